/**
 * `npm run bench`: compares the service with a minimal relay in alternating rounds and prints ratios. `--quick` gives a
 * rough result that varies. `--only full` (or another name of scenarios.ts) runs only that one, `--profiles <folder>`
 * writes CPU profiles, `--against <checkout>` compares this checkout with another one instead (ablation.ts). Exits with
 * an error if a target is missed or any response is wrong.
 */
import { cpus, loadavg } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../server/testkit/postgres-server.ts'
import { startProcess } from './processes.ts'
import type { Scope } from './processes.ts'
import { ablation } from './ablation.ts'
import { chosen } from './chosen.ts'
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

async function measure(only: string[]): Promise<Row[]> {
  const wanted = chosen(only, Object.keys(scenarios))
  const bench = await prepare()
  const rows: Row[] = []
  for (const name of wanted) {
    say(`\n${name}`)
    rows.push(...((await scenarios[name]?.(bench)) ?? []))
  }
  return rows
}

async function main(): Promise<boolean> {
  const { against, only } = values
  const rows = against === undefined ? await measure(only) : await ablation(await prepare(), resolve(against), only)
  const machine = `${cpus().length} cores, ${cpus()[0]?.model ?? ''}, Node ${process.versions.node}`
  // The bench itself has four processes. If others are busy too, ratios are still useful, absolute times are not.
  const load = loadavg()[0]?.toFixed(1)
  process.stdout.write(`\n${machine}, load ${load} (at rest before: ${restingLoad.toFixed(1)})\n`)
  process.stdout.write(`${table(rows)}\n`)
  return rows.every(({ isMet }) => isMet !== false)
}

try {
  process.exitCode = (await main()) ? 0 : 1
} finally {
  for (const ending of endings) await ending()
}
process.exit()
