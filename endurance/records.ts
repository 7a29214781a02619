/**
 * `npm run endurance -- --records 1000000`: a service with a long audit log. A separate process requests `/healthz`
 * every 20 ms while everything that callers, operators and the service itself do with the log runs, one task after the
 * other. `/healthz` must never take longer than 100 ms.
 */
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeOptions } from '../bench/contenders.ts'
import { cpuSeconds, startProcess } from '../bench/processes.ts'
import type { Scope } from '../bench/processes.ts'
import { millis, table } from '../bench/report.ts'
import type { Row } from '../bench/report.ts'
import { standstillDuring } from '../bench/standstill.ts'
import { signIn } from '../e2e/person.ts'
import { settingsFor, startService } from '../e2e/running-service.ts'
import type { Environment, RunningService } from '../e2e/running-service.ts'
import { createAuthority } from '../server/testkit/certificates.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import type { Probed, ProbeOrder } from './health-probe.ts'
import { tasksFor } from './record-tasks.ts'
import type { TaskNeeds } from './record-tasks.ts'
import { seedRecords } from './seed-records.ts'
import type { SeededRecords } from './seed-records.ts'
import { answer } from './upstream.ts'

export interface RecordsOrder {
  records: number
  isPostgres: boolean
  /** Only tasks whose name contains one of these words; all if empty. */
  only: string[]
  /** Folder that keeps the seeded SQLite database for the next run. */
  seeded: string | undefined
  profiles: string | undefined
}

const mostMs = 100
const parties = 10_000

export async function measureRecords(scope: Scope, order: RecordsOrder, say: (line: string) => void): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-endurance-'))
  scope.after(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  const authority = await createAuthority(folder)
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1'] })
  const kept = readKept(order.seeded)
  const upstream = await startTlsUpstream(scope, certificate, answer, kept ? { port: kept.port } : {})
  const host = `localhost:${upstream.port}`
  const engine = order.isPostgres ? 'postgres' : 'sqlite'
  const masterKeyFile = join(folder, 'master-key')
  if (order.isPostgres) writeFileSync(masterKeyFile, randomBytes(32).toString('base64url'), { mode: 0o600 })
  const env = await settingsFor(scope, engine, {
    // `keys rotate` can replace a key in a file, but not one in the environment.
    ...(order.isPostgres && { SALLYPORT_MASTER_KEY_FILE: masterKeyFile }),
    SALLYPORT_EGRESS_ALLOW: host,
    SALLYPORT_EGRESS_CA_FILE: authority.caFile,
    SALLYPORT_LOG_LEVEL: 'warn',
    NODE_OPTIONS: nodeOptions(order.profiles),
  })
  const seeded = kept?.seeded ?? (await seedRecords(env, { records: order.records, parties, host }, say))
  const dataDir = env['SALLYPORT_DATA_DIR'] ?? ''
  if (kept && order.seeded !== undefined) cpSync(join(order.seeded, 'data'), dataDir, { recursive: true })
  else if (order.seeded !== undefined) keep(order.seeded, dataDir, upstream.port, seeded)

  const probe = await startProcess(scope, '../endurance/health-probe.ts')
  const rows: Row[] = []
  let service = await startService(scope, engine, env)
  const target = () => ({ port: service.port, upstreamHost: host, agents: seeded.agents.slice(0, 20) })
  const measure = async (what: string, work: () => Promise<void>) => {
    const row = await measureOne(service, probe, target(), what, work)
    rows.push(row)
    say(`  ${row.what}: ${row.ours}; ${row.result}`)
  }
  const { token: session } = await signIn(service, { user_id: seeded.userId })
  const needs: TaskNeeds = { scope, service, seeded, session }
  const isWanted = (name: string) => order.only.length === 0 || order.only.some((word) => name.includes(word))
  for (const [name, task] of Object.entries(tasksFor(!order.isPostgres))) {
    if (isWanted(name)) await measure(name, () => task(needs))
  }
  if (isWanted('sweep')) {
    await service.stop()
    service = await startService(scope, engine, { ...env, ...sweepingSoon(env) })
    await measure('the sweep, with everything due', async () => {
      await sleep(30_000)
      if (!/retention/.test(service.log)) say(service.log.slice(-2000))
    })
  }
  await service.stop()
  process.stdout.write(`\n${cpus().length} cores, Node ${process.versions.node}, ${order.records} records, ${engine}\n`)
  process.stdout.write(`${table(rows)}\n`)
  return rows.every(({ isMet }) => isMet !== false)
}

async function measureOne(
  service: RunningService,
  probe: ChildProcess,
  target: ProbeOrder,
  what: string,
  work: () => Promise<void>,
): Promise<Row> {
  const cpuBefore = cpuSeconds(service.pid)
  const began = performance.now()
  probe.send(target)
  let failure = ''
  const { longestMs } = await standstillDuring(service, async () => {
    await work().catch((error: unknown) => (failure = String(error)))
  })
  probe.send('end')
  const [reply] = (await once(probe, 'message')) as [{ result: Probed } | { error: string }]
  if ('error' in reply) throw new Error(reply.error)
  const { longest, longestCall, failures } = reply.result
  const seconds = (performance.now() - began) / 1000
  const cpu = Math.round(((cpuSeconds(service.pid) - cpuBefore) / seconds) * 100)
  const wrong = [failure, ...new Set(failures.slice(0, 3))].filter((text) => text !== '')
  return {
    what,
    theirs: `${seconds.toFixed(1)} s, ${cpu} % of a core`,
    ours: `/healthz ${millis(longest)}, event loop ${millis(longestMs)}`,
    result: `longest call ${millis(longestCall)}${wrong.length === 0 ? '' : ` FAILED: ${wrong.join('; ')}`}`,
    bar: `≤ ${mostMs} ms`,
    isMet: longest <= mostMs && wrong.length === 0,
  }
}

function sweepingSoon({ NODE_OPTIONS = '' }: Environment): Environment {
  const preload = pathToFileURL(join(import.meta.dirname, 'sweep-soon.ts')).href
  return {
    NODE_OPTIONS: `${NODE_OPTIONS} --import=${preload}`,
    SALLYPORT_AUDIT_RETENTION_DAYS: '1',
    SALLYPORT_SANDBOX_RETENTION_DAYS: '1',
  }
}

function keep(folder: string, dataDir: string, port: number, seeded: SeededRecords): void {
  mkdirSync(folder, { recursive: true })
  cpSync(dataDir, join(folder, 'data'), { recursive: true })
  writeFileSync(join(folder, 'seeded.json'), JSON.stringify({ port, seeded }))
}

function readKept(folder: string | undefined): { port: number; seeded: SeededRecords } | undefined {
  const file = folder === undefined ? undefined : join(folder, 'seeded.json')
  if (file === undefined || !existsSync(file)) return undefined
  return JSON.parse(readFileSync(file, 'utf8')) as { port: number; seeded: SeededRecords }
}
