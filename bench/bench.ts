/**
 * `npm run bench`: the service beside a bare relay, in one run, in turns, as ratios. `--quick` gives a first look;
 * its figures move. `--only full` (and the other names of scenarios.ts) leaves out the rest, `--profiles <folder>` leaves
 * CPU profiles there, `--against <checkout>` measures this checkout beside another one instead (ablation.ts). Ends with an
 * error where a bar is not met, or where any answer was not the one asked for.
 */
import { cpus, loadavg } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../server/testkit/postgres-server.ts'
import { startProcess } from './processes.ts'
import type { Scope } from './processes.ts'
import { ablation } from './ablation.ts'
import { startRelay } from './contenders.ts'
import { table } from './report.ts'
import type { Row } from './report.ts'
import { scenarios } from './scenarios.ts'
import type { Bench } from './scenarios.ts'
import { startTestUpstream } from './test-upstream.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    profiles: { type: 'string' },
    against: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
  },
})

const restingLoad = loadavg()[0] ?? 0
const endings: (() => unknown)[] = []
const scope: Scope = { after: (ending) => endings.unshift(ending) }
const say = (line: string) => process.stderr.write(`${line}\n`)

async function prepare(): Promise<Bench> {
  const { files, ...upstream } = await startTestUpstream(scope)
  const outside = { ...upstream, profiles: values.profiles && resolve(values.profiles) }
  const pace = values.quick
    ? { warmUpSeconds: 6, rounds: 3, roundSeconds: 2 }
    : { warmUpSeconds: 12, rounds: 7, roundSeconds: 5 }
  return {
    scope,
    outside,
    files,
    pace,
    isQuick: values.quick,
    relay: await startRelay(scope, outside),
    generator: await startProcess(scope, 'generator.ts'),
    postgres: async () => {
      if (process.env['TEST_DATABASE_URL'] !== undefined) return
      say('Starting PostgreSQL …')
      const server = await startPostgres({ isDurable: true })
      scope.after(server.stop)
      process.env['TEST_DATABASE_URL'] = server.url
    },
    say: (progress) => say(`  ${progress}`),
  }
}

async function main(): Promise<boolean> {
  const wanted = values.only.length === 0 ? Object.keys(scenarios) : values.only
  const unknown = wanted.filter((name) => !(name in scenarios))
  if (unknown.length > 0)
    throw new Error(`--only takes ${Object.keys(scenarios).join(', ')}, not ${unknown.join(', ')}`)
  const bench = await prepare()
  const rows: Row[] = []
  if (values.against !== undefined) rows.push(...(await ablation(bench, resolve(values.against))))
  else {
    for (const name of wanted) {
      say(`\n${name}`)
      rows.push(...((await scenarios[name]?.(bench)) ?? []))
    }
  }
  const machine = `${cpus().length} cores, ${cpus()[0]?.model ?? ''}, Node ${process.versions.node}`
  // We are four processes ourselves. Where others work too, the ratios still hold somewhat, and the times do not.
  const load = loadavg()[0]?.toFixed(1)
  process.stdout.write(`\n${machine}, load ${load} (at rest before: ${restingLoad.toFixed(1)})\n`)
  process.stdout.write(`${table(rows)}\n`)
  return rows.every(({ isMet }) => isMet !== false)
}

const isMet = await main().finally(async () => {
  for (const ending of endings) await ending()
})
process.exit(isMet ? 0 : 1)
