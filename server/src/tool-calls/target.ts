/**
 * Where a tool's request goes, read from the target as it was sent. A target that a URL parser would rewrite is refused: what
 * is judged, signed and recorded is then exactly what the tool wrote.
 */
import { ServiceError } from '../platform/errors.ts'
import type { Tunnelled } from '../platform/http/tunnelled.ts'
import { invalidUrl } from '../proxy/destination.ts'

/** Where the tunnel goes, if the request came in one. Otherwise it came to a base URL. */
type Tunnel = Pick<Tunnelled, 'host' | 'port'> | undefined

interface Place {
  /** Of a base URL. */
  grantId?: string
  /** As it was written. */
  host: string
  /** Path and query. */
  rest: string
}

/** The URL that is meant, and the grant that a base URL names. Throws unless host and path are in their normal form. */
export function readTarget(target: string, tunnel: Tunnel): { grantId?: string; url: URL } {
  // It would be recorded with the path.
  if (target.includes('sp_key_')) throw invalidUrl('The URL contains a key for tools. Send it in a header instead.')
  const place = placeIn(target, tunnel)
  if (!place) {
    throw invalidUrl(tunnel ? 'Write the target as a path.' : 'Write the base URL as /v4/proxy/{grant_id}/{host}.')
  }
  const { host, rest, ...grant } = place
  const [path = ''] = rest.split('?', 1)
  const url = URL.parse(`https://${host}${path === '' ? '/' : ''}${rest}`)
  if (url?.host !== host) throw invalidUrl('Write the host in its normal form: lower case, in ASCII, without port 443.')
  if (url.pathname !== (path === '' ? '/' : path)) {
    const message = 'Write the path in its normal form: without dot segments, and with everything else percent-encoded.'
    throw invalidUrl(message)
  }
  return { ...grant, url }
}

/** The same of any target, for messages. */
export function aimOf(target: string, tunnel: Tunnel): { hostname: string; path: string } | undefined {
  const place = placeIn(target, tunnel)
  const url = place ? URL.parse(`https://${place.host}${place.rest}`) : undefined
  return url ? { hostname: url.hostname, path: url.pathname } : undefined
}

function placeIn(target: string, tunnel: Tunnel): Place | undefined {
  if (!tunnel) {
    const [, grantId, host, rest = ''] = /^\/v4\/proxy\/([^/?#]+)\/([^/?#]+)([/?].*)?$/s.exec(target) ?? []
    return grantId === undefined || host === undefined ? undefined : { grantId, host, rest }
  }
  const host = tunnel.port === 443 ? tunnel.host : `${tunnel.host}:${tunnel.port}`
  // Some clients write the whole URL.
  const origin = `https://${host}`
  const rest = target.startsWith(origin) ? target.slice(origin.length) : target
  return rest.startsWith('/') ? { host, rest } : undefined
}

export function assertSupported(
  headers: Iterable<readonly [name: string, value: string]>,
  { isHandshake }: { isHandshake: boolean },
): void {
  for (const [name, value] of headers) {
    if (name === 'upgrade' && !isHandshake) throw unsupported('Calls that upgrade to another protocol than WebSocket')
    if (name === 'content-type' && /^\s*application\/grpc\s*(?:[+;]|$)/i.test(value)) throw unsupported('gRPC calls')
  }
}

function unsupported(what: string): ServiceError {
  return new ServiceError('protocol_not_supported', { message: `${what} are not supported.` })
}
