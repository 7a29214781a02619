/** What the process and the tests use of the service, once all its parts are connected. */
import type { Gateway } from './gateway/gateway.ts'
import type { Http } from './platform/http/http.ts'
import type { Metrics } from './platform/operations/metrics.ts'
import type { Secret } from './platform/secret.ts'

export interface App {
  http: Http
  metrics: Metrics
  /** Has a listener of its own. */
  gateway: Gateway
  /** Makes the readiness check fail from now on. */
  beginStop: () => void
  /** Deletes old rows. Called periodically. */
  sweep: () => Promise<void>
  /** Runs background jobs that are due: refreshes, revocations, callbacks, pushes, approved calls. */
  catchUp: () => Promise<unknown>
  flushRefusals: () => Promise<void>
  /** Resolves once the outcomes of finished calls are recorded. */
  settle: () => Promise<void>
  /** Signs the head of the audit log and logs it, so that it can be stored out of the service's reach. */
  signRecord: () => Promise<void>
  /** Aborts calls in progress whose grants have ended, and ends tunnels. Does nothing if there are none. */
  checkCallsInFlight: () => Promise<void>
  /** Sends other instances' changes to event streams, and ends the streams of invalid sessions. */
  checkListeners: () => Promise<void>
  /** Makes no more calls that were approved. Resolves once none is in progress. */
  heldCallsMade: () => Promise<void>
  /** Aborts all calls in progress. Resolves once that is recorded. */
  cutOffCalls: () => Promise<void>
  /** Starts no more refreshes, callbacks and pushes. Resolves once none is running. */
  jobsEnded: () => Promise<void>
  /** A one-time login link for the local owner, who is the operator too if the link is for them alone. */
  ownerLoginUrl: (role?: { isOperator: boolean }) => Promise<Secret>
}
