/**
 * `npm run bench -- --against <checkout>`: compares this checkout with another one in which something was removed, in
 * alternating rounds. Shows what that buys: CPU time per call at 16 connections, and the median latency on one. Build
 * the other checkout first.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { chosen } from './chosen.ts'
import { contending, startSeeded } from './contenders.ts'
import type { MeasuredService } from './contenders.ts'
import { micros, millis } from './report.ts'
import type { Row } from './report.ts'
import { compare, median } from './rounds.ts'
import type { Comparison } from './rounds.ts'
import type { Bench } from './scenarios.ts'
import type { Round } from './load.ts'

const seedSize = { agents: 200, grantsPerAgent: 1, auditRecords: 0 }
const cases = {
  sqlite: { engine: 'sqlite', path: '/small', connections: [16, 1] },
  postgres: { engine: 'postgres', path: '/small', connections: [16, 1] },
  large: { engine: 'sqlite', path: '/large', connections: [4] },
} as const

/** Many short rounds, because each is compared with its neighbour in time. */
const pace = { warmUpSeconds: 8, rounds: 16, roundSeconds: 1 }

export async function ablation(bench: Bench, checkout: string, only: string[]): Promise<Row[]> {
  const executable = join(checkout, 'server/bin/sallyport-server.mjs')
  if (!existsSync(executable)) throw new Error(`--against takes a checkout of the project, not ${checkout}`)
  const wanted = chosen(only, Object.keys(cases))
  const rows: Row[] = []
  for (const [name, { engine, path, connections }] of Object.entries(cases)) {
    if (!wanted.includes(name)) continue
    if (engine === 'postgres') await bench.postgres()
    const { scope, outside, generator, say } = bench
    const start = async (name: string, place: object): Promise<MeasuredService> => ({
      ...(await startSeeded(scope, engine, outside, seedSize, say, {}, place)),
      name,
    })
    const services = [await start('without', { executable }), await start('with', {})]
    const contenders = services.map((one) => contending(one, path))
    for (const count of connections) {
      const [without, here] = await compare(generator, contenders, count, bench.isQuick ? bench.pace : pace, say)
      if (without && here) rows.push(rowFor(`${name}, connections: ${count}`, count, without, here))
    }
    for (const { service } of services) await service.stop()
  }
  return rows
}

function rowFor(what: string, connections: number, without: Comparison, here: Comparison): Row {
  const [pick, show] =
    connections === 1 ? [(round: Round) => round.p50, millis] : [(round: Round) => round.cpuPerCall, micros]
  const figure = ({ rounds }: Comparison) => median(rounds.map(pick))
  // Compare rounds that ran next to each other: the machine's load changes over time.
  const savings = here.rounds.map((round, index) => 1 - pick(round) / pick(without.rounds[index] ?? round))
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`
  const result = `saves ${percent(median(savings))} (${percent(Math.min(...savings))} to ${percent(Math.max(...savings))})`
  return { what, theirs: show(figure(without)), ours: show(figure(here)), result, bar: '', isMet: undefined }
}
