/**
 * The person who starts the service on their own machine holds its admin token already: it is in their data directory.
 * The link that is printed there signs them in as owner and operator, so that they needn't paste it. That holds only
 * while the service is for this machine alone: on a shared one, a session of the owner is a user's session.
 */
import type { Config } from '../config/config.ts'
import { isLoopback } from '../platform/config/platform-settings.ts'

/** Listens on loopback, is addressed there, and has no proxy in front that others could come through. */
export function isForThisMachine({
  host,
  baseUrl,
  trustProxy,
}: Pick<Config, 'host' | 'baseUrl' | 'trustProxy'>): boolean {
  return isLoopback(host) && isLoopback(baseUrl.hostname) && !trustProxy
}
