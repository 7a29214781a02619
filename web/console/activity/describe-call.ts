/** Describes a call: what the agent did or tried, where, and the result. */
import type { AuditRecord } from '@sallyport/sdk'
import { theirs } from '../../ui/words.ts'
import type { Part, Words } from '../../ui/words.ts'

/** Past tense for calls that were made, infinitive for those that were not. */
const verbs: Record<string, readonly [string, string]> = {
  GET: ['read', 'read'],
  HEAD: ['checked', 'check'],
  OPTIONS: ['queried', 'query'],
  POST: ['sent to', 'send to'],
  PUT: ['wrote to', 'write to'],
  PATCH: ['changed', 'change'],
  DELETE: ['deleted', 'delete'],
}

const called = ['called', 'call'] as const

/** Events of calls that waited for the user. */
const waited: Partial<
  Record<AuditRecord['event'], (who: Part, place: Part, tried: string, record: AuditRecord) => Words>
> = {
  'proxy.held': (who, place, tried) => [who, ` asked you before it would ${tried} `, place, '.'],
  'proxy.approved': (who, place, tried, { detail }) => [
    'You allowed ',
    who,
    ` to ${tried} `,
    place,
    ...repeating(detail),
    ...signing(detail),
    '.',
  ],
  'proxy.denied': (who, place, tried, { detail }) => [
    'You didn’t allow ',
    who,
    ` to ${tried} `,
    place,
    ...signing(detail),
    '.',
  ],
  'proxy.expired': (who, place, tried) => [
    'Nobody decided in time whether ',
    who,
    ` may ${tried} `,
    place,
    '; it was not denied.',
  ],
  'proxy.cancelled': (who, place, tried, { detail }) =>
    detail['by'] === 'agent'
      ? [who, ` no longer asks to ${tried} `, place, '.']
      : ['The access of ', who, ' ended before you decided whether it may ', `${tried} `, place, '.'],
}

function repeating({ repeat_for_seconds: seconds }: AuditRecord['detail']): Words {
  return typeof seconds === 'number' ? [`, and again for ${seconds < 3600 ? '15 minutes' : '1 hour'}`] : []
}

function signing({ device_id: device, signed }: AuditRecord['detail']): Words {
  return typeof device === 'string' || signed === true ? [', signed by a device'] : []
}

export function describeCall(record: AuditRecord, who: Part): Words {
  const { detail, outcome, result, event } = record
  const place = placeOf(detail)
  const [done, tried] = verbOf(detail)
  const status = result?.['status']
  const describeWait = waited[event]
  if (describeWait) return describeWait(who, place, tried, record)
  if (outcome === 'answered' && typeof status === 'number') {
    return [who, ` ${status < 400 ? done : `tried to ${tried}`} `, place, `, answered ${status}.`]
  }
  if (outcome === 'refused') {
    const { count } = detail
    const why = reasonOf(detail)
    if (typeof count === 'number') return [who, ` was refused ${count.toLocaleString('en')} more times: ${why}.`]
    return [who, ` tried to ${tried} `, place, `, refused: ${why}.`]
  }
  if (outcome === 'failed') return [who, ` tried to ${tried} `, place, `, failed: ${reasonOf(result ?? {})}.`]
  return [who, ` began to ${tried} `, place, '; the result is unknown.']
}

function verbOf({ method }: AuditRecord['detail']): readonly [string, string] {
  return typeof method === 'string' && Object.hasOwn(verbs, method) ? (verbs[method] ?? called) : called
}

function placeOf({ host, path }: AuditRecord['detail']): Part {
  if (typeof host !== 'string') return 'an unknown host'
  return theirs(host + (typeof path === 'string' && path !== '/' ? path : ''))
}

const reasons: Record<string, string> = {
  host_not_allowed: 'this host isn’t allowed by the grant',
  method_not_allowed: 'this method isn’t allowed by the grant',
  path_not_allowed: 'this path isn’t allowed by the grant',
  grant_revoked: 'the grant was revoked',
  grant_expired: 'the grant had expired',
  paused: 'all agents were paused',
  grant_exhausted: 'its call limit was reached',
  grant_not_found: 'it has no such grant',
  access_not_allowed: 'the grant doesn’t allow calls that do this',
  denied_by_exception: 'an exception of the grant doesn’t allow it',
  call_denied: 'you denied the same call a moment ago',
  call_expired: 'nobody decided in time; it was not denied',
  call_cancelled: 'it was cancelled',
  agent_disabled: 'the agent is disabled',
  forbidden: 'its key isn’t for this grant',
  grant_ambiguous: 'several grants cover the call',
  range_not_supported: 'this provider allows no requests for parts of a response',
  protocol_not_supported: 'this protocol isn’t supported',
  credential_endpoint: 'this endpoint handles credentials or creates lasting access',
  body_not_inspectable: 'the body was too large to be inspected',
  address_not_allowed: 'the address is not allowed',
  invalid_url: 'the URL is invalid',
  connection_needs_reauth: 'you need to sign in to the account again',
  rate_limited: 'too many calls',
  upstream_unreachable: 'the host could not be reached',
  upstream_tls_error: 'the host’s TLS certificate could not be verified',
  upstream_body_too_large: 'the response was too large',
  upstream_encoding_unsupported: 'the response could not be decoded, so it was not forwarded',
  upstream_timeout: 'the host did not respond in time',
  provider_unavailable: 'the provider did not refresh the token',
  caller_gone: 'the agent disconnected',
  service_stopped: 'the service was stopped',
  internal: 'an internal error occurred',
}

/** Falls back to the code itself. */
export function reasonOf({ code }: Record<string, unknown>): string {
  if (typeof code !== 'string') return 'unknown reason'
  return Object.hasOwn(reasons, code) ? (reasons[code] ?? code) : code.replaceAll('_', ' ')
}
