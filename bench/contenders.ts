/** What is measured: the relay, and the service on each database, with the calls that each expects. */
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { roomy, settingsFor, startService } from '../e2e/running-service.ts'
import type { Engine, Environment, Place, RunningService } from '../e2e/running-service.ts'
import type { Caller } from './load.ts'
import type { Scope } from './processes.ts'
import { startListener } from './processes.ts'
import { seed } from './seed.ts'
import type { Seed, SeededAgent } from './seed.ts'
import type { Contender } from './rounds.ts'

export interface Outside {
  /** Host and port of the upstream: `localhost:1234`. */
  host: string
  caFile: string
  /** The folder where each service writes a CPU profile when it stops. */
  profiles: string | undefined
}

/** Anything that can be called for a path of the upstream. */
export interface Callable {
  name: string
  port: number
  pid: number
  calls: (path: string, more?: object) => Caller[]
}

export interface MeasuredService extends Callable {
  service: RunningService
  /** Agents that existed before it started. */
  agents: SeededAgent[]
}

export async function startRelay(scope: Scope, { host, caFile }: Outside): Promise<Callable> {
  const listener = await startListener(scope, 'relay.ts', [caFile])
  // As long as our token, so that both parse the same number of bytes.
  const agent = { grant_id: 'grt_06ev7m0r5w3rs9t1g2h3j4k5m6', headers: { authorization: `Bearer ${'t'.repeat(40)}` } }
  return {
    name: 'relay',
    ...listener,
    calls: (path, more) => [{ token: 'nobody', body: callOf(agent, `https://${host}${path}`, more) }],
  }
}

export async function startSeeded(
  scope: Scope,
  engine: Engine,
  { host, caFile, profiles }: Outside,
  size: Omit<Seed, 'host'>,
  say: (progress: string) => void,
  changes: Environment = {},
  place: Place = {},
): Promise<MeasuredService> {
  const env = await settingsFor(scope, engine, {
    SALLYPORT_EGRESS_ALLOW: host,
    SALLYPORT_EGRESS_CA_FILE: caFile,
    SALLYPORT_LOG_LEVEL: 'warn',
    NODE_OPTIONS: nodeOptions(profiles),
    ...changes,
  })
  const agents = await seed(env, { ...size, host }, say)
  const service = await startStopped(scope, engine, env, place)
  return {
    name: engine,
    service,
    agents,
    port: service.port,
    pid: service.pid,
    calls: (path, more) => agents.map((agent) => calling(agent, `https://${host}${path}`, more)),
  }
}

/** Agents in the sandbox: the service's own work, with its echo in place of an upstream. */
export async function startInSandbox(scope: Scope, { profiles }: Outside): Promise<MeasuredService> {
  const settings = { ...roomy, SALLYPORT_LOG_LEVEL: 'warn', NODE_OPTIONS: nodeOptions(profiles) }
  const service = await startStopped(scope, 'sqlite', settings)
  const agents: Caller[] = []
  for (let index = 0; index < 200; index++) {
    const { token } = await service.register()
    const started = await service.call('POST', '/v4/sandbox/start', { token })
    const { example } = started.body as { example: { body: object } }
    agents.push({ token, body: JSON.stringify(example.body) })
  }
  return { name: 'sandbox', service, agents: [], port: service.port, pid: service.pid, calls: () => agents }
}

export function nodeOptions(profiles: string | undefined): string {
  const probe = `--import=${pathToFileURL(join(import.meta.dirname, 'loop-delay.ts')).href}`
  return profiles === undefined ? probe : `${probe} --cpu-prof --cpu-prof-dir=${profiles}`
}

/** It is stopped, not killed: otherwise it would not write its profile. */
async function startStopped(
  scope: Scope,
  engine: Engine,
  env: Environment,
  place: Place = {},
): Promise<RunningService> {
  const service = await startService(scope, engine, env, place)
  scope.after(() => service.stop())
  return service
}

function calling({ token, grantId }: SeededAgent, url: string, more: object = {}): Caller {
  return { token, body: callOf({ grant_id: grantId }, url, more) }
}

function callOf(who: object, url: string, more: object = {}): string {
  return JSON.stringify({ ...who, method: 'GET', url, ...more })
}

export function contending(callable: Callable, path: string, more?: object): Contender {
  return { ...callable, callers: callable.calls(path, more) }
}
