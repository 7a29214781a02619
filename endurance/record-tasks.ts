/** Everything that callers, operators and the service itself do with a long audit log, by name. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnServer, startService } from '../e2e/running-service.ts'
import type { Environment, RunningService } from '../e2e/running-service.ts'
import type { Scope } from '../bench/processes.ts'
import { freePort } from '../server/testkit/ports.ts'
import type { SeededRecords } from './seed-records.ts'

export interface TaskNeeds {
  scope: Scope
  service: RunningService
  seeded: SeededRecords
  /** Of the user who has granted access to all agents. */
  session: string
}

/** Rejects if the task did not end as expected. */
export type Task = (needs: TaskNeeds) => Promise<void>

type Who = 'admin' | 'person' | 'agent'

const hourMs = 3_600_000
/** Pages read of each list: reading all would take minutes for callers with a read limit, and show nothing new. */
const mostPages = 25

function tokenOf({ service, seeded, session }: TaskNeeds, who: Who): string {
  return { admin: service.adminToken, person: session, agent: seeded.agent.token }[who]
}

/** Page after page. A caller beyond its read limit waits, as a client would. */
function pages(who: Who, path: string, most = mostPages): Task {
  return async (needs) => {
    let cursor: string | null = null
    for (let count = 0; count < most; count++) {
      const query: string = cursor === null ? '' : `${path.includes('?') ? '&' : '?'}cursor=${cursor}`
      const reply = await needs.service.call('GET', path + query, { token: tokenOf(needs, who) })
      if (reply.status === 429) {
        await sleep(1000)
        continue
      }
      if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.text.slice(0, 300)}`)
      cursor = (reply.body as { next_cursor?: string | null }).next_cursor ?? null
      if (cursor === null) return
    }
  }
}

/** Exports everything, for a limited time. */
function exported(who: Who, path: string, mostMs = 4_000): Task {
  return async (needs) => {
    const { port } = needs.service
    const headers = { authorization: `Bearer ${tokenOf(needs, who)}`, host: `localhost:${port}` }
    let signal = AbortSignal.timeout(mostMs)
    const ask = async (): Promise<IncomingMessage> => {
      const asked = get({ host: '127.0.0.1', port, path, headers, agent: false, signal })
      const [reply] = (await once(asked, 'response')) as [IncomingMessage]
      if (reply.statusCode !== 429) return reply
      reply.resume()
      await sleep(1000)
      signal = AbortSignal.timeout(mostMs)
      return ask()
    }
    try {
      const reply = await ask()
      if (reply.statusCode !== 200) throw new Error(`${path}: ${reply.statusCode}`)
      await once(reply.resume(), 'end')
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

function together(...tasks: Task[]): Task {
  return async (needs) => {
    await Promise.all(tasks.map((task) => task(needs)))
  }
}

/** Only the service is measured. */
function withoutProbe(env: Environment): Environment {
  return { ...env, NODE_OPTIONS: '' }
}

function command(...words: string[]): Task {
  return async ({ scope, service }) => {
    const { exit, stdout, stderr } = spawnServer(scope, words, withoutProbe(service.env))
    const { code } = await exit
    if (code !== 0) throw new Error(`${words.join(' ')}: ${stdout().slice(-500)} ${stderr().slice(-500)}`)
  }
}

/** Its own process that runs statements on the database file, each after a pause. */
function sqliteBeside(...steps: (string | number)[]): Task {
  return async ({ service }) => {
    const program = `
      import { DatabaseSync } from 'node:sqlite'
      const database = new DatabaseSync(process.argv[1], { timeout: 5000 })
      for (const step of ${JSON.stringify(steps)}) {
        if (typeof step === 'number') await new Promise((resolve) => setTimeout(resolve, step))
        else database.prepare(step).all()
      }`
    const file = join(service.dataDir, 'sallyport.db')
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, file], { stdio: 'inherit' })
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) throw new Error(`beside the service: ${code}`)
  }
}

/** Copies the whole database while the service runs. */
const backup: Task = async (needs) => {
  const copy = join(needs.service.dataDir, 'copy.db')
  await sqliteBeside(`vacuum into '${copy}'`)(needs)
  if (!existsSync(copy)) throw new Error('there is no copy')
  rmSync(copy)
}

const onlineBackup: Task = async ({ service }) => {
  const program = `
    import { DatabaseSync, backup } from 'node:sqlite'
    const database = new DatabaseSync(process.argv[1], { timeout: 5000, readOnly: true })
    const ended = setTimeout(() => process.exit(0), 20000)
    await backup(database, process.argv[2], { rate: 2000 })
    clearTimeout(ended)`
  const [file, copy] = ['sallyport.db', 'copy.db'].map((name) => join(service.dataDir, name))
  const args = ['--input-type=module', '-e', program, file ?? '', copy ?? '']
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`the backup: ${code}`)
  rmSync(copy ?? '', { force: true })
}

/**
 * Writes as much as in a busy hour while a reader blocks SQLite's checkpoints, so that the log has to be caught up
 * with.
 */
const longReader: Task = async (needs) => {
  const ended = new AbortController()
  const reading = sqliteBeside(
    'begin',
    'select count(*) from agents',
    12_000,
    'rollback',
  )(needs).finally(() => {
    ended.abort()
  })
  // Another process writes a lot, which makes the log grow.
  const database = new DatabaseSync(join(needs.service.dataDir, 'sallyport.db'), { timeout: 5000 })
  database.exec('pragma wal_autocheckpoint = 0')
  const grow = database.prepare('update agents set name = name || ?')
  while (!ended.signal.aborted) {
    database.exec('begin immediate')
    grow.run(' ')
    database.exec('rollback')
    database.exec('begin immediate')
    database.prepare("update agents set name = 'bench'").run()
    database.exec('commit')
    await sleep(200)
  }
  database.close()
  await reading
  // Now only the service uses it.
  await sleep(3_000)
}

/** Starts and stops another process of the service on the same data, as a worker does. */
const anotherInstance: Task = async ({ scope, service }) => {
  const env = { ...withoutProbe(service.env), PORT: String(await freePort()) }
  const other = await startService(scope, 'sqlite', env)
  await other.register()
  await other.stop()
}

const since = () => new Date(Date.now() - 24 * hourMs).toISOString()
const until = () => new Date(Date.now() - 60 * 24 * hourMs).toISOString()

function auditTasks(who: Who): Record<string, Task> {
  const list = (query: string, most?: number): Task => pages(who, `/v4/audit?${query}`, most)
  return {
    [`${who}: audit, newest`]: list('limit=100'),
    [`${who}: audit, q that matches nothing`]: list('limit=100&q=nowhere', 10),
    [`${who}: audit, outcome=failed (none)`]: list('limit=100&outcome=failed', 10),
    [`${who}: audit, event that is not there`]: list('limit=100&event=device.paired', 10),
    [`${who}: audit, by grant`]: (needs) => list(`limit=100&grant_id=${needs.seeded.grantId}`, 10)(needs),
    [`${who}: audit, by connection`]: (needs) =>
      list(`limit=100&connection_id=${needs.seeded.connectionId}`, 10)(needs),
    [`${who}: audit, by agent`]: (needs) => list(`limit=100&agent_id=${needs.seeded.agentId}`, 10)(needs),
    [`${who}: audit, by provider`]: list('limit=100&provider=acme', 10),
    [`${who}: audit, since`]: (needs) => list(`limit=100&since=${since()}`, 10)(needs),
    [`${who}: audit, until`]: (needs) => list(`limit=100&until=${until()}`, 10)(needs),
    [`${who}: audit, ndjson`]: exported(who, '/v4/audit?format=ndjson'),
    [`${who}: audit, csv`]: exported(who, '/v4/audit?format=csv'),
    [`${who}: audit, ndjson with q that matches nothing`]: exported(who, '/v4/audit?format=ndjson&q=nowhere'),
    ...(who !== 'agent' && {
      [`${who}: audit series`]: pages(
        who,
        `/v4/audit/series?since=${new Date(Date.now() - 100 * 24 * hourMs).toISOString()}`,
      ),
      [`${who}: audit series by grant`]: pages(who, '/v4/audit/series?by=grant&buckets=1'),
    }),
  }
}

const lists: Record<string, Task> = {
  'person: grants': pages('person', '/v4/grants?limit=100'),
  'person: grants, active': pages('person', '/v4/grants?limit=100&status=active'),
  'person: grants, expired': pages('person', '/v4/grants?limit=100&status=expired'),
  'person: grants, revoked': pages('person', '/v4/grants?limit=100&status=revoked'),
  'person: grants of a connection': (needs) =>
    pages('person', `/v4/grants?limit=100&connection_id=${needs.seeded.connectionId}`)(needs),
  'person: grants of an agent': (needs) =>
    pages('person', `/v4/grants?limit=100&agent_id=${needs.seeded.agentId}`)(needs),
  'agent: grants': pages('agent', '/v4/grants?limit=100'),
  'agent: grants, revoked': pages('agent', '/v4/grants?limit=100&status=revoked'),
  'person: connections': pages('person', '/v4/connections'),
  'person: pending access requests': pages('person', '/v4/access-requests/pending'),
  'person: devices, sessions, muted agents, me': together(
    pages('person', '/v4/devices'),
    pages('person', '/v4/auth/sessions?limit=100'),
    pages('person', '/v4/muted-agents'),
    pages('person', '/v4/auth/me'),
  ),
  'agent: providers': pages('agent', '/v4/providers'),
  'admin: agents': pages('admin', '/v4/agents?limit=100', 200),
  'admin: agents, disabled': pages('admin', '/v4/agents?limit=100&status=disabled'),
  'admin: users': pages('admin', '/v4/users?limit=100', 200),
  'admin: providers': pages('admin', '/v4/providers?limit=100'),
  'admin: health': pages('admin', '/v4/health'),
  'admin: metrics': async ({ service }) => {
    for (let count = 0; count < 10; count++) await service.call('GET', '/metrics', { token: service.adminToken })
  },
  'person: console (home, activity, grants at once)': together(
    pages('person', '/v4/audit?limit=50', 1),
    pages('person', '/v4/audit/series?by=grant&buckets=1', 1),
    pages('person', '/v4/grants?limit=100', 3),
    pages('person', '/v4/connections', 1),
    pages('person', '/v4/access-requests/pending', 1),
  ),
  'six exports at once': together(
    ...(['admin', 'person', 'agent'] as const).flatMap((who) => [
      exported(who, '/v4/audit?format=ndjson'),
      exported(who, '/v4/audit?format=csv'),
    ]),
  ),
}

const commands: Record<string, Task> = {
  'command: audit verify': command('audit', 'verify'),
  'command: keys rotate': command('keys', 'rotate'),
  'command: v1-key rotate': command('v1-key', 'rotate'),
  'another instance starts and stops': anotherInstance,
}

const besideSqlite: Record<string, Task> = {
  'SQLite: backup by vacuum into': backup,
  'SQLite: online backup': onlineBackup,
  'SQLite: another process holds the write lock for 3 s': sqliteBeside('begin immediate', 3_000, 'rollback'),
  'SQLite: checkpoint by another process': sqliteBeside('pragma wal_checkpoint(truncate)'),
  'SQLite: a reader of 12 s, then its long log': longReader,
}

export function tasksFor(isSqlite: boolean): Record<string, Task> {
  return {
    'nothing but calls': () => sleep(3_000),
    ...auditTasks('admin'),
    ...auditTasks('person'),
    ...auditTasks('agent'),
    ...lists,
    ...commands,
    ...(isSqlite && besideSqlite),
  }
}
