/** Describes a grant in one sentence: who may do what, where, with which account, until when. */
import type { Grant } from '@sallyport/sdk'
import { count, listOf, theirs } from '../../ui/words.ts'
import type { Words } from '../../ui/words.ts'
import { asking, doing } from '../approve/describe-terms.ts'

export function describeGrant(grant: Grant, formatMoment: (moment: string) => string): Words {
  const { agent, allowed_methods: methods, allowed_paths: paths, max_calls: most, status } = grant
  const { mode, exceptions, max_access: maxAccess } = grant
  return [
    theirs(agent.name),
    status === 'active' ? ' may ' : ' could ',
    ...doing({ methods, maxAccess }),
    ' on ',
    ...listOf(grant.allowed_hosts),
    ...(paths === null ? [] : [', under ', ...listOf(paths)]),
    ...accountOf(grant),
    most === null ? '' : `, up to ${count(most, 'call')}`,
    `, ${ending(grant, formatMoment)}.`,
    ...(status === 'active' ? [' ', ...asking({ mode, exceptions, methods, maxAccess })] : []),
  ]
}

function accountOf({ kind, account_label: label, provider_name: provider }: Grant): Words {
  if (kind === 'sandbox') return [', in its sandbox']
  const at: Words = provider === null ? [] : [' at ', theirs(provider)]
  return label === null ? [', using your account', ...at] : [', using ', theirs(label), ...at]
}

function ending(grant: Grant, formatMoment: (moment: string) => string): string {
  const { status, expires_at: end, revoked_at: revoked, revoked_by: by, calls, max_calls: most } = grant
  if (status === 'active') return end === null ? 'until you revoke it' : `until ${formatMoment(end)}`
  if (status === 'expired') {
    const isUsedUp = most !== null && calls >= most
    return isUsedUp || end === null ? 'until its call limit was reached' : `until ${formatMoment(end)}`
  }
  if (revoked === null) return 'until its account was disconnected'
  return by === 'agent'
    ? `until the agent gave it up: ${formatMoment(revoked)}`
    : `until you revoked it: ${formatMoment(revoked)}`
}

/** How long before its expiry a grant is highlighted: a day, and no more than a quarter of its time. */
const soonMs = 24 * 3_600_000

export function endsSoon({ status, expires_at: end, created_at: since }: Grant, now: number): boolean {
  if (status !== 'active' || end === null) return false
  const quarterMs = (Date.parse(end) - Date.parse(since)) / 4
  return Date.parse(end) - now < Math.min(soonMs, quarterMs)
}
