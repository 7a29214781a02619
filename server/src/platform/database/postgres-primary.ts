/**
 * Chooses among several hosts the first in the list that accepts connections and takes writes. All are asked at once, so
 * that any number of silent ones costs one time limit. A single host is used without asking.
 */
import pg from 'pg'
import type { ClientConfig } from 'pg'
import { NoWritableHost, isUnavailable } from './failures.ts'
import { destroy } from './postgres-connection.ts'
import { reasonOf } from './wait-for-database.ts'

export interface Host {
  /** host:port */
  name: string
  options: ClientConfig
}

/** `problem`: why it is not used. */
export interface HostState {
  name: string
  problem?: string
  error?: unknown
}

export interface Primary {
  /** Of the chosen host. */
  options: () => ClientConfig
  /** Has to be awaited before connecting. Undefined while a host is chosen. */
  find: () => Promise<void> | undefined
  /** A connection failed or its server stopped taking writes: hosts are asked again before the next one. */
  doubt: () => void
  /** Asks all hosts, for people. */
  states: () => Promise<HostState[]>
}

/** `passedOver`: the hosts before the chosen one, which can't be used. */
export type OnChosen = (name: string, passedOver: readonly HostState[]) => void

export function createPrimary(hosts: readonly [Host, ...Host[]], timeoutMs: number, onChosen: OnChosen): Primary {
  let [chosen] = hosts
  let isChosen = hosts.length === 1
  let finding: Promise<void> | undefined

  const find = async () => {
    const asked = hosts.map((host) => ask(host, timeoutMs))
    const passedOver: HostState[] = []
    for (const [index, host] of hosts.entries()) {
      const state = (await asked[index]) as HostState
      if (state.problem === undefined) {
        chosen = host
        isChosen = true
        onChosen(host.name, passedOver)
        return
      }
      passedOver.push(state)
    }
    throw noneOf(passedOver)
  }

  return {
    options: () => chosen.options,
    find: () => {
      if (isChosen) return undefined
      finding ??= find().finally(() => (finding = undefined))
      return finding
    },
    doubt: () => {
      isChosen = hosts.length === 1
    },
    states: () => Promise.all(hosts.map((host) => ask(host, timeoutMs))),
  }
}

async function ask({ name, options }: Host, timeoutMs: number): Promise<HostState> {
  const client = new pg.Client({ ...options, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs })
  // Without a listener, an error would end the process. The query that fails reports it.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only')
    return rows[0]?.transaction_read_only === 'off' ? { name } : { name, problem: 'read-only' }
  } catch (error) {
    return { name, problem: reasonOf(error), error }
  } finally {
    destroy(client)
  }
}

/** A wrong password or name has to be mended by the operator, and waiting doesn't help. */
function noneOf(states: readonly HostState[]): Error {
  const problems = states.map(({ name, problem }) => `${name}: ${problem}`).join('; ')
  const refused = states.find(({ error }) => error !== undefined && !isUnavailable(error))?.error
  if (refused === undefined) return new NoWritableHost(problems)
  const { code } = refused as NodeJS.ErrnoException
  return Object.assign(new Error(problems, { cause: refused }), code !== undefined && { code })
}
