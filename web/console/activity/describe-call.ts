/** One call of an agent: what it did or tried to do, where, and what came of it. */
import type { AuditRecord } from '@sallyport/sdk'
import { theirs } from '../../ui/words.ts'
import type { Part, Words } from '../../ui/words.ts'

/** Done, and tried. */
const verbs: Record<string, readonly [string, string]> = {
  GET: ['read', 'read'],
  HEAD: ['looked at', 'look at'],
  OPTIONS: ['asked about', 'ask about'],
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
  return [who, ` began to ${tried} `, place, '; how it ended is not on record.']
}

function verbOf({ method }: AuditRecord['detail']): readonly [string, string] {
  return typeof method === 'string' && Object.hasOwn(verbs, method) ? (verbs[method] ?? called) : called
}

function placeOf({ host, path }: AuditRecord['detail']): Part {
  if (typeof host !== 'string') return 'somewhere'
  return theirs(host + (typeof path === 'string' && path !== '/' ? path : ''))
}

const reasons: Record<string, string> = {
  host_not_allowed: 'you did not allow this host',
  method_not_allowed: 'you did not allow this method',
  path_not_allowed: 'you did not allow this path',
  grant_revoked: 'the grant was revoked',
  grant_expired: 'the grant had ended',
  grant_exhausted: 'its calls were used up',
  grant_not_found: 'it has no such grant',
  agent_disabled: 'the agent is disabled',
  credential_endpoint: 'it is about credentials, or leaves lasting access behind',
  address_not_allowed: 'the address may not be reached from here',
  invalid_url: 'the address is not one that can be called',
  connection_needs_reauth: 'the account needs you to sign in again',
  rate_limited: 'too many calls at once',
  upstream_unreachable: 'the host could not be reached',
  upstream_tls_error: 'the host did not prove that it is the one',
  upstream_body_too_large: 'the answer was too large',
  upstream_encoding_unsupported: 'the answer could not be read, so it was not passed on',
  upstream_timeout: 'no answer came in time',
  provider_unavailable: 'the provider did not renew the token',
  caller_gone: 'the agent hung up',
  service_stopped: 'the service was stopped',
  internal: 'something went wrong here',
}

/** A code that has no words yet is still a fact. */
export function reasonOf({ code }: Record<string, unknown>): string {
  if (typeof code !== 'string') return 'the reason is not on record'
  return Object.hasOwn(reasons, code) ? (reasons[code] ?? code) : code.replaceAll('_', ' ')
}
