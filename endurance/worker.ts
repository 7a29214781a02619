/** A process of the endurance run: makes the good calls, or one attacker's, and says what came of it. */
import { setPriority } from 'node:os'
import { runAttacks } from './attack.ts'
import type { Victim } from './attack.ts'
import { makeGoodCalls } from './good-agents.ts'
import type { GoodCalls } from './good-agents.ts'
import { hostileAgentsAttacks } from './hostile-agent.ts'
import { strangersAttacks } from './stranger.ts'

const attacks = { stranger: strangersAttacks, 'hostile agent': hostileAgentsAttacks }
export type AttackerKind = keyof typeof attacks

export type Order =
  | { kind: 'good calls'; calls: GoodCalls }
  | { kind: 'attack'; attacker: AttackerKind; victim: Victim; seconds: number; intensity: number; only: string[] }

/** Attackers have machines of their own: here they must not take the service's processor time. */
const lowPriority = 15

process.on('disconnect', () => process.exit())
process.on('message', (order: Order) => {
  carryOut(order).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})

function carryOut(order: Order): Promise<unknown> {
  if (order.kind === 'good calls') return makeGoodCalls(order.calls)
  setPriority(lowPriority)
  const { attacker, victim, seconds, intensity, only } = order
  const isWanted = ([name]: [string, unknown]) => only.length === 0 || only.includes(name)
  const wanted = Object.fromEntries(Object.entries(attacks[attacker]).filter(isWanted))
  return runAttacks(wanted, victim, { signal: AbortSignal.timeout(seconds * 1000), intensity })
}
