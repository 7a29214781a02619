/**
 * What callers that no user has approved may have stored: agents without a grant from a user, and anyone without a
 * credential. What agents ask for has a share of its own, so that calls that are refused, however many, never keep an
 * agent from asking for access.
 */
import type { Config } from '../config/config.ts'
import { addressBlock } from '../platform/limits/client-address.ts'
import type { StorageShare } from '../platform/limits/storage-limits.ts'

export type UnapprovedConfig = Pick<
  Config,
  'unapprovedBytesPerAgentDay' | 'unapprovedBytesPerAddressDay' | 'unapprovedBytesPerDay'
>

/** `calls`: sandbox calls and refusals. `requests`: everything else. */
type Purpose = 'calls' | 'requests'

const portions: Record<Purpose, number> = { calls: 3 / 4, requests: 1 / 4 }
export const dayMs = 86_400_000
/** One network can have many addresses, but not the share of all of them. */
export const addressesPerWideBlock = 4

export function unapprovedShares(
  config: UnapprovedConfig,
  purpose: Purpose,
  { agentId, address }: { agentId?: string | undefined; address?: string | undefined },
): StorageShare[] {
  const ofDay = (name: string | undefined, maxBytes: number): StorageShare[] =>
    name === undefined
      ? []
      : [{ key: `unapproved-${purpose}:${name}`, maxBytes: maxBytes * portions[purpose], refillMs: dayMs }]
  const { narrow, wide } = address === undefined ? { narrow: undefined, wide: undefined } : addressBlock(address)
  return [
    ...ofDay(agentId, config.unapprovedBytesPerAgentDay),
    ...ofDay(narrow, config.unapprovedBytesPerAddressDay),
    ...ofDay(wide, addressesPerWideBlock * config.unapprovedBytesPerAddressDay),
    ...ofDay('all', config.unapprovedBytesPerDay),
  ]
}

/** Of an agent that a user has approved: nobody else's share counts, and nobody else can use it up. */
export function ownShare(config: UnapprovedConfig, purpose: Purpose, agentId: string): StorageShare[] {
  return unapprovedShares(config, purpose, { agentId }).slice(0, 1)
}
