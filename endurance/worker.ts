/**
 * A child process of the endurance run: makes the good calls or an attacker's, or serves the API that the attacker
 * calls.
 */
import { setPriority } from 'node:os'
import type { Certificate } from '../server/testkit/certificates.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import { runAttacks } from './attack.ts'
import type { Victim } from './attack.ts'
import { makeGoodCalls } from './good-agents.ts'
import type { GoodCalls } from './good-agents.ts'
import { hostileAgentsAttacks } from './hostile-agent.ts'
import { strangersAttacks } from './stranger.ts'
import { answer } from './upstream.ts'

const attacks = { stranger: strangersAttacks, 'hostile agent': hostileAgentsAttacks }
export type AttackerKind = keyof typeof attacks

export type Order =
  | { kind: 'good calls'; calls: GoodCalls }
  /** Replies with its port. */
  | { kind: 'upstream'; tls: Certificate }
  /** Replies with method and path of each request that reached the upstream. */
  | { kind: 'requests' }
  | { kind: 'attack'; attacker: AttackerKind; victim: Victim; seconds: number; intensity: number; only: string[] }

/**
 * In reality attackers and their upstreams have their own machines: here they must not compete for the service's CPU.
 */
const lowPriority = 15

process.on('disconnect', () => process.exit())
process.on('message', (order: Order) => {
  carryOut(order).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})

let requests: string[] = []

async function carryOut(order: Order): Promise<unknown> {
  if (order.kind === 'good calls') return makeGoodCalls(order.calls)
  if (order.kind === 'requests') return requests
  setPriority(lowPriority)
  if (order.kind === 'upstream') {
    const upstream = await startTlsUpstream({ after: () => undefined }, order.tls, answer)
    ;({ requests } = upstream)
    return upstream.port
  }
  const { attacker, victim, seconds, intensity, only } = order
  const isWanted = ([name]: [string, unknown]) => only.length === 0 || only.includes(name)
  const wanted = Object.fromEntries(Object.entries(attacks[attacker]).filter(isWanted))
  return runAttacks(wanted, victim, { signal: AbortSignal.timeout(seconds * 1000), intensity })
}
