/** Measures all contenders in turn, several times, so that other load on the machine affects all of them alike. */
import type { ChildProcess } from 'node:child_process'
import { drive } from './load.ts'
import type { Caller, Round, Target } from './load.ts'

export interface Pace {
  warmUpSeconds: number
  rounds: number
  roundSeconds: number
}

export interface Contender extends Target {
  callers: Caller[]
}

export interface Comparison<Of = Contender> {
  contender: Of
  rounds: Round[]
}

/** The first contender is the baseline. */
export function compare(
  generator: ChildProcess,
  contenders: Contender[],
  connections: number,
  pace: Pace,
  say: (progress: string) => void,
): Promise<Comparison[]> {
  return compareBy(contenders, pace, say, (contender, seconds, isWarmUp) =>
    drive(generator, contender, {
      kind: 'load',
      port: contender.port,
      callers: contender.callers,
      connections,
      seconds,
      // The first call of every account opens its connection to the upstream.
      atLeast: isWarmUp ? contender.callers.length * 4 : 0,
    }),
  )
}

/** The same, with load of any kind. */
export async function compareBy<Of extends Target>(
  contenders: Of[],
  { warmUpSeconds, rounds, roundSeconds }: Pace,
  say: (progress: string) => void,
  run: (contender: Of, seconds: number, isWarmUp: boolean) => Promise<Round>,
): Promise<Comparison<Of>[]> {
  for (const contender of contenders) {
    say(`warming up: ${contender.name}`)
    await run(contender, warmUpSeconds, true)
  }
  const results: Comparison<Of>[] = contenders.map((contender) => ({ contender, rounds: [] }))
  for (let round = 1; round <= rounds; round++) {
    // Every other round in reverse: the second one measured tends to be a little faster.
    for (const result of round % 2 === 0 ? results.toReversed() : results) {
      const measured = await run(result.contender, roundSeconds, false)
      result.rounds.push(measured)
      const cpu = Math.round(measured.cpuPerCall)
      say(
        `round ${round} of ${rounds}: ${result.contender.name} ${Math.round(measured.perSecond)} a second, ${cpu} µs CPU each`,
      )
    }
  }
  return results
}

export function median(values: number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

export const medianOf = ({ rounds }: Pick<Comparison, 'rounds'>, pick: (round: Round) => number): number =>
  median(rounds.map(pick))

/** Compares rounds that ran next to each other: the machine's load changes over time. */
export function ratios(one: Pick<Comparison, 'rounds'>, other: Pick<Comparison, 'rounds'>): number[] {
  return one.rounds.map(({ perSecond }, index) => perSecond / (other.rounds[index]?.perSecond ?? Infinity))
}
