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

export function describeCall(record: AuditRecord, who: Part): Words {
  const { detail, outcome, result } = record
  const place = placeOf(detail)
  const [done, tried] = verbOf(detail)
  const status = result?.['status']
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
  grant_exhausted: 'its call limit was reached',
  grant_not_found: 'it has no such grant',
  agent_disabled: 'the agent is disabled',
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
