/**
 * Checks in advance whether a call would be refused because of what its name resolves to. This only gives an early error:
 * every connection is checked again. A name that does not resolve now is accepted.
 */
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { placeOf } from './allow-list.ts'
import type { AllowList, SuppliedBy } from './allow-list.ts'
import type { Lookup } from './resolver.ts'
import { notAllowed } from './failures.ts'

const patienceMs = 5000

export async function judgeName(
  { list, lookup }: { list: AllowList; lookup: Lookup },
  url: URL,
  suppliedBy: SuppliedBy,
  field: string,
): Promise<void> {
  const place = placeOf(url)
  if (isIP(place.host) !== 0) return
  const late = sleep(patienceMs, [], { ref: false })
  for (const { address } of await Promise.race([lookup(place.host).catch(() => []), late])) {
    const reason = list.judge(address, place, suppliedBy)
    if (reason === undefined) continue
    throw notAllowed(place.host, reason, field)
  }
}
