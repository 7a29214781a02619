/** Which hosts a tunnel may be opened to: those that an active grant of the key covers, and no others. */
import type { Standing } from '../grants/standing.ts'
import { refusalFor, whyEnded } from '../grants/usable.ts'
import { ServiceError } from '../platform/errors.ts'
import { addressIn, hostOf } from '../platform/http/tunnels/tunnel-target.ts'
import type { TunnelTarget } from '../platform/http/tunnels/tunnel-target.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { mayReach } from '../proxy/policy.ts'
import type { Route } from '../proxy/upstream.ts'

export interface At {
  target: TunnelTarget
  /** The name that this service is reached by. */
  ownHost: string
  now: Date
}

export interface Candidate {
  standing: Standing
  /** Undefined without a connection, as for the sandbox, which nobody approved. */
  route: Route | undefined
}

/** The error that says why not. Undefined if it is opened: whether a call is allowed is decided for each of them. */
export function whyNotOpened(candidates: readonly Candidate[], at: At): ServiceError | undefined {
  const covering = candidates.filter((candidate) => covers(candidate, at))
  if (covering.length === 0) return new ServiceError('host_not_allowed', { message: notCovered(at.target) })
  const reasons = covering.map(({ standing: { grant, provider } }) =>
    // A connection that needs a new sign-in is no reason: calls are answered with that, and it may be renewed any time.
    whyEnded({ grant, provider, connection: null, isTokenCurrent: true }, at.now),
  )
  const [reason] = reasons
  return reason && !reasons.includes(undefined) ? refusalFor(reason) : undefined
}

function covers({ standing: { grant }, route }: Candidate, { target, ownHost }: At): boolean {
  const host = hostOf(target)
  if (!route) return false
  if (!mayReach(grant, route.rules, host)) return route.openAt?.(host) !== undefined
  const isOfThisNetwork = target.host === ownHost || addressIn(target.host) !== undefined || !target.host.includes('.')
  return !isOfThisNetwork || grant.allowedHosts.some((entry) => !entry.startsWith('*.') && matchesHost(entry, host))
}

function notCovered(target: TunnelTarget): string {
  return `No active grant of this key covers ${hostOf(target)}. Request access to it, then create a key with that grant.`
}
