/** Makes one API call for a model: finds the grant, limits the size of the response, and marks it as untrusted data. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { AgentClient, Provider } from '@sallyport/sdk'
import { findGrant, isUnder, toTellApart } from '../choose-grant.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailure } from '../failures.ts'
import { take } from '../listed.ts'
import { droppedOf, proxied, responseOf } from '../proxied.ts'
import { readAtMost } from '../read-at-most.ts'
import type { Extra } from './decision.ts'
import { boundedWait } from './held-calls.ts'
import { partOf, rest } from './kept-answers.ts'
import type { KeptAnswers } from './kept-answers.ts'
import { mayOverrideMethod } from './method-override.ts'
import type { McpNeeds } from './server.ts'
import { asData, dataNote, facts, failed } from './tool-results.ts'

interface Given {
  isReading: boolean
  method: string
  url: string
  grant_id?: string | undefined
  headers?: Record<string, string> | undefined
  body?: unknown
  body_base64?: string | undefined
  follow_redirects?: boolean | undefined
  timeout_seconds?: number | undefined
  idempotency_key?: string | undefined
  dry_run?: boolean | undefined
  reason?: string | undefined
  wait_seconds: number
  max_characters: number
}

interface Needs extends McpNeeds {
  kept: KeptAnswers
  extra: Extra
}

const mostBytes = 8 * 1024 * 1024

export async function makeCall(needs: Needs, given: Given): Promise<CallToolResult> {
  const { extra } = needs
  const { signal } = extra
  const url = urlOf(given.url)
  if (!url) return failed({ error: { code: 'invalid_url', message: '`url` must be an absolute https URL.' } })
  if (given.body !== undefined && given.body_base64 !== undefined) {
    return failed({ error: { code: 'invalid_body', message: 'Pass body or body_base64, not both.' } })
  }
  const mustRead = (where: URL) => {
    if (given.isReading && mayOverrideMethod(where, given.headers ?? {})) throw notReading()
  }
  mustRead(url)
  const agent = needs.agent()
  const method = given.method.toUpperCase()
  const grant = given.grant_id ?? (await usableGrant(needs, agent, url, method))
  if (typeof grant !== 'string') return grant
  const body = bodyOf(given)
  if (given.dry_run) return dryRun(agent, { ...given, method }, grant, signal)
  return boundedWait(extra, given.wait_seconds, async (wait) => {
    const response = await proxied(agent, {
      ...wait,
      grantId: grant,
      method,
      url: given.url,
      headers: { ...body.headers, ...given.headers },
      body: body.bytes,
      follow: given.follow_redirects ?? false,
      onRedirect: (next) => {
        mustRead(new URL(next))
      },
      timeoutMs: (given.timeout_seconds ?? 60) * 1000,
      idempotencyKey: given.idempotency_key,
      reason: given.reason,
      signal,
    })
    return resultOf(needs, response, url.host, given.max_characters)
  })
}

/** The response of a call that a person had to approve. */
export async function earlierResult(
  needs: Needs,
  { call_id: id, wait_seconds, max_characters }: { call_id: string; wait_seconds: number; max_characters: number },
): Promise<CallToolResult> {
  const { extra } = needs
  const { signal } = extra
  const { calls } = needs.agent()
  const { url, approval_url: approvalUrl, expires_at: expiresAt } = await calls.get(id, { signal })
  return boundedWait(extra, wait_seconds, async ({ waitMs, onWaiting }) => {
    onWaiting({ callId: id, approvalUrl, expiresAt })
    const reply = await calls.wait(id, { waitMs, signal })
    return resultOf(needs, responseOf(reply), new URL(url).host, max_characters)
  })
}

async function resultOf(
  { kept, extra: { signal } }: Needs,
  response: Response,
  host: string,
  maxCharacters: number,
): Promise<CallToolResult> {
  const { bytes, isCut, isBroken } = await readAtMost(response, mostBytes, signal)
  const { text, encoding } = textOf(bytes)
  const { part, end } = partOf(text, 0, maxCharacters)
  const id = end < text.length ? kept.keep({ source: host, text }) : undefined
  const type = (response.headers.get('content-type') ?? 'none').replace(/[^\w/+.;= -]/g, '').slice(0, 100)
  const form = encoding === 'base64' ? ', shown as base64' : ''
  const headers = headersOf(response)
  const dropped = droppedOf(response)
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
  const lines = [
    `${host} responded with ${response.status} (content-type: ${type}; ${bytes.length} bytes${form}).`,
    ...(dropped.length === 0 ? [] : [`Headers not forwarded: ${dropped.join(', ')}.`]),
    asData(host, `${head.join('')}${head.length === 0 ? '' : '\n'}${part}`),
    ...(id === undefined ? [] : [rest(id, end, text.length)]),
    ...(isCut ? [`The response is longer than ${mostBytes} bytes; the rest was discarded.`] : []),
    ...(isBroken ? ['The response was cut off before it was complete.'] : []),
  ]
  const isError = response.status >= 400 || isBroken
  const auditId = response.headers.get('x-sallyport-audit-id')
  const structuredContent = {
    ...{ status: response.status, host, content_type: type, bytes: bytes.length, body_encoding: encoding },
    data: { note: dataNote(host), headers, body: part },
    ...{ length: text.length, next_offset: id === undefined ? null : end },
    ...(id !== undefined && { result_id: id }),
    ...{ is_cut: isCut, is_broken_off: isBroken, dropped_headers: dropped },
    ...(auditId !== null && { audit_id: auditId }),
  }
  return { content: [{ type: 'text', text: lines.join('\n') }], structuredContent, ...(isError && { isError }) }
}

function notReading(): CommandFailure {
  const message = 'This call overrides the method in a header or a parameter, so it is not read-only.'
  return new CommandFailure(exitCodes.usage, message, { code: 'not_reading', hint: 'Use call_api.' })
}

async function dryRun(agent: AgentClient, given: Given, grantId: string, signal: AbortSignal): Promise<CallToolResult> {
  const { method, url, headers, body, body_base64 } = given
  const answer = await agent.dryRun(
    {
      grant_id: grantId,
      method,
      url,
      ...(headers && { headers }),
      ...(body !== undefined && { body }),
      ...(body_base64 !== undefined && { body_base64 }),
    },
    { signal },
  )
  return answer.allowed ? facts({ ...answer }) : failed({ ...answer })
}

/** The grant's id, or a result that says what to do. */
async function usableGrant(
  needs: Needs,
  agent: AgentClient,
  url: URL,
  method: string,
): Promise<string | CallToolResult> {
  const { anyone, extra } = needs
  const { signal } = extra
  const choice = await findGrant(agent, { url, method, signal })
  if ('grant' in choice) return choice.grant.grant_id
  if (choice.grants.length > 0) {
    return failed({
      error: { code: 'several_grants', message: `Grants for several accounts cover ${url.host}.` },
      grants: choice.grants.map(toTellApart),
      next: "If you can't tell which account is meant, ask the person. Then pass its grant_id.",
    })
  }
  const providers = await take<Provider>(anyone().providers.list({}, { signal }), 200)
  const provider = providers.find(({ api_hosts }) => isUnder(api_hosts, url))
  return failed({
    error: {
      code: 'no_grant',
      message: `No active grant covers ${method} ${url.host}.`,
      ...(provider && { access_request: { provider: provider.slug, hosts: [url.host], methods: [method] } }),
    },
    next: provider
      ? 'A person has to approve this. Call request_access with the members of access_request and a reason.'
      : 'No provider covers this host. list_providers lists the available ones.',
  })
}

/** Adds the content type that the service would set, unless the caller set one. */
function bodyOf({ body, body_base64, headers = {} }: Given): { bytes?: Buffer; headers: Record<string, string> } {
  if (body_base64 !== undefined) return { bytes: Buffer.from(body_base64, 'base64'), headers: {} }
  if (body === undefined) return { headers: {} }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  const type = typeof body === 'string' && !isJsonContainer(body) ? 'text/plain;charset=UTF-8' : 'application/json'
  return { bytes: Buffer.from(text), headers: hasType || text === '' ? {} : { 'content-type': type } }
}

function isJsonContainer(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}

/** Anything but UTF-8 is returned in base64. */
function textOf(bytes: Buffer): { text: string; encoding: 'text' | 'base64' } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), encoding: 'text' }
  } catch {
    return { text: bytes.toString('base64'), encoding: 'base64' }
  }
}

const telling = /^(?:location|link|retry-after|etag|last-modified|allow|x-total-count|(?:x-)?ratelimit-.*)$/

/** The headers that a caller acts on. They are untrusted too. */
function headersOf({ headers }: Response): Record<string, string> {
  const found = [...headers].filter(([name]) => telling.test(name))
  return Object.fromEntries(found.map(([name, value]) => [name, value.slice(0, 2000)]))
}

function urlOf(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const isPlain = url.username === '' && url.password === ''
  return /^https?:$/.test(url.protocol) && isPlain ? url : undefined
}
