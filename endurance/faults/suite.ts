/**
 * `npm run endurance -- --faults`: agents call at a steady rate while faults.ts breaks the service, its database and
 * its network, one fault at a time, in each set-up of set-ups.ts. On loopback only, as root on Debian.
 *
 * `--only <text>`      faults whose name has the text; may be repeated
 * `--set-up <text>`    the same for set-ups
 * `--markdown <file>`  writes the table of docs/reliability.md there
 *
 * Exits with an error if a target is missed.
 */
import { existsSync, globSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Scope } from '../../bench/processes.ts'
import { findProgram } from '../../server/testkit/programs.ts'
import { faults } from './faults.ts'
import { measure } from './measure.ts'
import type { Result } from './measure.ts'
import { cellsOf, markdown, table } from './report.ts'
import { kinds, startSetUp } from './set-ups.ts'
import type { Kind } from './set-ups.ts'
import { startWorld } from './world.ts'

const { values } = parseArgs({
  options: {
    faults: { type: 'boolean' },
    only: { type: 'string', multiple: true, default: [''] },
    'set-up': { type: 'string', multiple: true, default: [''] },
    markdown: { type: 'string' },
  },
})
const isNamed = (wanted: string[], name: string) =>
  wanted.some((text) => name.toLowerCase().includes(text.toLowerCase()))
const say = (line: string) => process.stderr.write(`${line}\n`)

/** Stops all processes and servers that `work` has started, even if it throws. */
async function scoped<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
  const endings: (() => unknown)[] = []
  try {
    return await work({ after: (ending) => endings.unshift(ending) })
  } finally {
    for (const ending of endings) await ending()
  }
}

function assertPrograms(): void {
  const missing = [
    ...(findProgram(['haproxy', '/usr/sbin/haproxy']) ? [] : ['haproxy']),
    ...(findProgram(['pgbouncer', '/usr/sbin/pgbouncer']) ? [] : ['pgbouncer']),
    ...(globSync('/usr/lib/*/faketime/libfaketime.so.1').length > 0 ? [] : ['libfaketime']),
  ]
  if (missing.length > 0) throw new Error(`The fault suite needs: apt-get install ${missing.join(' ')}`)
  if (process.getuid?.() !== 0 || !existsSync('/proc')) throw new Error('The fault suite runs as root, on Linux.')
}

async function runOn(kind: Kind): Promise<Result[]> {
  const chosen = faults.filter(({ name, on }) => on.includes(kind) && isNamed(values.only, name))
  if (chosen.length === 0) return []
  return scoped(async (scope) => {
    say(`${kind}: starting`)
    const setUp = await startSetUp(scope, kind, await startWorld(scope), () => undefined)
    const results: Result[] = []
    for (const fault of chosen) {
      const began = performance.now()
      const result = await measure(scope, fault, setUp)
      const [, , saw, longest, recovery, lost, doubled] = cellsOf(result)
      const seconds = Math.round((performance.now() - began) / 1000)
      say(`${result.isMet ? '✓' : '✗'} ${kind}: ${fault.name} (${seconds} s)`)
      say(`    ${saw}; longest wait ${longest}, recovery ${recovery}, ${lost} lost, ${doubled} doubled`)
      if (result.complaint !== '') say(result.complaint)
      results.push(result)
    }
    return results
  })
}

assertPrograms()
const results: Result[] = []
for (const kind of kinds.filter((one) => isNamed(values['set-up'], one))) results.push(...(await runOn(kind)))
results.sort((one, other) => faults.indexOf(one.fault) - faults.indexOf(other.fault))
process.stdout.write(`\n${table(results)}\n`)
if (values.markdown !== undefined) writeFileSync(values.markdown, markdown(results))
process.exit(results.every(({ isMet }) => isMet) ? 0 : 1)
