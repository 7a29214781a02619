/**
 * `npm run endurance -- --memory`: measures the memory of one process on SQLite with many accounts. Makes 50,000 calls
 * as fast as possible, spread over 1,000 agents with an account each. Then continues for `--seconds` at a constant rate
 * at which every account's connection to the upstream stays open. Memory has to stay under a limit and must not grow.
 */
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSeeded } from '../bench/contenders.ts'
import { drive } from '../bench/load.ts'
import { memoryOf, startProcess } from '../bench/processes.ts'
import type { Scope } from '../bench/processes.ts'
import { table } from '../bench/report.ts'
import type { Row } from '../bench/report.ts'
import { median } from '../bench/rounds.ts'
import { startTestUpstream } from '../bench/test-upstream.ts'

const megabyte = 1e6
const accounts = 1000
const calls = 50_000
const connections = 16
const perSecond = 100
const sampleSeconds = 10
const settleMs = 3000
const mostBytes = 250 * megabyte
/** How far the median of the last third of the steady samples may exceed that of the first third. */
const mostGrowth = 10 * megabyte

export async function measureMemory(scope: Scope, seconds: number, say: (line: string) => void): Promise<boolean> {
  // It keeps connections open longer than the service does.
  const { host, caFile } = await startTestUpstream(scope)
  const outside = { host, caFile, profiles: undefined }
  const size = { agents: accounts, grantsPerAgent: 1, auditRecords: 0 }
  // Without the bench's probe: it is TypeScript, and stripping its types takes 12 MB in the service.
  const service = await startSeeded(scope, 'sqlite', outside, size, say, { NODE_OPTIONS: '' })
  const generator = await startProcess(scope, 'generator.ts')
  const load = { kind: 'load' as const, port: service.port, callers: service.calls('/small'), connections }
  const memory = () => memoryOf(service.pid).now

  await sleep(settleMs)
  const atRest = memory()
  say(`at rest: ${megabytes(atRest)}`)
  const { perSecond: rate } = await drive(generator, service, { ...load, seconds: 0, atLeast: calls })
  const afterCalls = memory()
  say(`after ${calls} calls, ${Math.round(rate)} a second: ${megabytes(afterCalls)}`)

  const samples: number[] = []
  const look = setInterval(() => {
    samples.push(memory())
    say(`steady, ${samples.length * sampleSeconds} s: ${megabytes(samples.at(-1) ?? 0)}`)
  }, sampleSeconds * 1000)
  const pauseMs = (connections * 1000) / perSecond
  await drive(generator, service, { ...load, seconds, atLeast: 0, pauseMs })
  clearInterval(look)
  const third = Math.ceil(samples.length / 3)
  const growth = median(samples.slice(-third)) - median(samples.slice(0, third))
  const most = Math.max(afterCalls, ...samples)

  const row = { theirs: '', bar: '', isMet: undefined }
  const rows: Row[] = [
    { ...row, what: 'memory at rest', ours: '', result: megabytes(atRest) },
    {
      ...row,
      what: `after ${calls} calls over ${accounts} accounts`,
      ours: `${Math.round((afterCalls - atRest) / accounts / 1000)} kB an account`,
      result: megabytes(afterCalls),
      bar: `< ${megabytes(mostBytes)}`,
      isMet: afterCalls < mostBytes,
    },
    {
      ...row,
      what: `${seconds} s more at ${perSecond} calls a second`,
      ours: `at most ${megabytes(most)}`,
      result: `${growth < 0 ? '-' : '+'} ${megabytes(Math.abs(growth))}`,
      bar: `≤ + ${megabytes(mostGrowth)}, < ${megabytes(mostBytes)}`,
      isMet: growth <= mostGrowth && most < mostBytes,
    },
  ]
  process.stdout.write(`\n${cpus().length} cores, ${cpus()[0]?.model ?? ''}, Node ${process.versions.node}\n`)
  process.stdout.write(`${table(rows)}\n`)
  return rows.every(({ isMet }) => isMet !== false)
}

const megabytes = (bytes: number) => `${(bytes / megabyte).toFixed(1)} MB`
