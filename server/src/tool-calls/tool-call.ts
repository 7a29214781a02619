/** Makes a call of the proxy's of what a tool sent, as if it called the API itself. Nothing is decided here but the grant. */
import type { AwsScope } from '@sallyport/protocol/proxy'
import { ServiceError } from '../platform/errors.ts'
import type { Tunnelled } from '../platform/http/tunnelled.ts'
import { faultOf, handshakeHeaders } from '../platform/websockets/handshake.ts'
import { errorFormatAt } from '../providers/presets/tool-rules.ts'
import { refusal } from '../proxy/admit.ts'
import type { AdmitNeeds } from '../proxy/admit.ts'
import type { Known, ProxyInput, ToolDoor } from '../proxy/call.ts'
import { judgeUrl } from '../proxy/destination.ts'
import { judge } from '../proxy/judge.ts'
import type { Upload } from '../proxy/upload.ts'
import type { CallingTool } from '../tool-keys/tool-key.ts'
import { chooseGrant, notOfKey } from './choose-grant.ts'
import { assertSupported, readTarget } from './target.ts'

/** A request as it arrived. Names of headers are in lower case. */
export interface ToolRequest {
  method: string
  target: string
  headers: ReadonlyMap<string, string>
  upload: Upload | undefined
  /** It opens a WebSocket. */
  isHandshake: boolean
  /** Undefined: it came to a base URL. */
  tunnelled: Tunnelled | undefined
}

export type ToolCall = ProxyInput & { upload: Upload | undefined }

export function doorOf(tunnelled: Tunnelled | undefined): ToolDoor {
  return tunnelled?.door ?? 'base_url'
}

export async function readToolCall(
  needs: AdmitNeeds,
  tool: CallingTool,
  request: ToolRequest,
  requestId: string,
): Promise<ToolCall> {
  const { method, headers, upload, tunnelled, isHandshake } = request
  const door = doorOf(tunnelled)
  const input: ToolCall = {
    ...{ door, grantId: '', method: method.toUpperCase(), url: '', headers: {}, upload },
    ...{ body: undefined, bodyBase64: undefined, timeoutMs: undefined, followRedirects: false, stream: true },
    ...(isHandshake && { isHandshake }),
  }
  const known: Known = {}
  try {
    const { grantId, url } = readTarget(request.target, tunnelled)
    input.url = url.href
    const destination = judgeUrl(input.url, undefined)
    // Not the path: until the grant is known, it could contain a credential of the tool's own.
    known.facts = { method: input.method, host: destination.host, door }
    assertSupported(headers, { isHandshake })
    const fault = isHandshake ? faultOf(headers) : undefined
    if (fault !== undefined) throw new ServiceError('invalid_http', { message: fault })
    if (grantId !== undefined && !tool.key.grantIds.includes(grantId)) throw notOfKey()
    input.grantId = grantId ?? (await chooseGrant(needs, tool, { method: input.method, destination, headers }))
    const passed = new Map(passedOn(headers))
    input.headers = Object.fromEntries(isHandshake ? handshakeHeaders(passed) : passed)
    const scope = await scopeOf(needs, tool, input.grantId, headers)
    if (scope) input.aws = scope
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    throw await refusal(needs, tool, error, { requestId, input, known })
  }
  const next = afterDiscovery(input)
  if (next) await assertAllowed(needs, tool, next, requestId)
  return input
}

/**
 * What git sends once it knows the refs. git shows why its first request is refused, but nothing of why this one is, so it is
 * judged before.
 */
function afterDiscovery(input: ToolCall): ToolCall | undefined {
  const { hostname, pathname, origin, search } = new URL(input.url)
  const [, repository] = /^(.*)\/info\/refs$/.exec(pathname) ?? []
  const [, service] = /^\?service=(git-(?:upload|receive)-pack)$/.exec(search) ?? []
  if (repository === undefined || service === undefined) return undefined
  if (errorFormatAt(hostname, pathname) !== 'git_text') return undefined
  const headers = { 'content-type': `application/x-${service}-request` }
  return { ...input, method: 'POST', url: `${origin}${repository}/${service}`, headers, upload: undefined }
}

async function assertAllowed(needs: AdmitNeeds, tool: CallingTool, input: ToolCall, requestId: string): Promise<void> {
  const known: Known = {}
  try {
    await judge(needs, tool, input, requestId, known)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    throw await refusal(needs, tool, error, { requestId, input, known })
  }
}

/** About the connection, its framing or what stands for the credential. The proxy sets them anew, or not at all. */
const notPassedOn = new Set([
  ...['accept-encoding', 'authorization', 'connection', 'content-length', 'expect', 'host', 'http2-settings'],
  ...['keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
])

function* passedOn(headers: ToolRequest['headers']): Generator<[name: string, value: string]> {
  // RFC 9110 §7.6.1
  const ofConnection = (headers.get('connection') ?? '').toLowerCase().split(',')
  const hopByHop = new Set(ofConnection.map((name) => name.trim()))
  for (const [name, value] of headers) {
    const isOurs = name.startsWith('x-sallyport-') || value.includes('sp_key_')
    if (!isOurs && !notPassedOn.has(name) && !hopByHop.has(name)) yield [name, value]
  }
}

/** What the tool has signed the request for: AWS accepts no signature for another region or service. */
async function scopeOf(
  { database, standings, routeOf }: AdmitNeeds,
  { agent }: CallingTool,
  grantId: string,
  headers: ToolRequest['headers'],
): Promise<AwsScope | undefined> {
  const signed = /\bCredential=[^,\s=]{0,200}?\/\d{8}\/(?:([a-z0-9-]{1,64})\/)?([a-z0-9-]{1,64})\/aws4_request\b/
  const [found, region, service = ''] = signed.exec(headers.get('authorization') ?? '') ?? []
  const standing = found === undefined ? undefined : await standings.find(database.queries, agent.agentId, grantId)
  if (!standing?.connection || !routeOf(standing).rules?.signs) return undefined
  return { service, ...(region !== undefined && { region }) }
}
