/** Locks that keep the service from its database: another program's, or a table's, until all connections wait for it. */
import { Agent } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { callService } from '../../e2e/http-call.ts'
import type { SetUp } from './set-ups.ts'

let holder: DatabaseSync | undefined

/** Another program writes to the file and does not finish. */
export function lockFile({ victim }: SetUp): void {
  holder = new DatabaseSync(join(victim.dataDir, 'sallyport.db'), { timeout: 5_000 })
  holder.exec('begin immediate')
}

export function unlockFile(): void {
  holder?.exec('rollback')
  holder?.close()
  holder = undefined
}

const requestsAtOnce = 600
let waiting: { client: pg.Client; answered: Promise<string> } | undefined

/** Calls of another kind wait for a locked table, each on a connection of the pool; the others wait for a connection. */
export async function exhaustPool(setUp: SetUp): Promise<void> {
  const client = new pg.Client({ connectionString: setUp.postgres?.server.url })
  await client.connect()
  await client.query('begin; lock table access_requests in access exclusive mode')
  waiting = { client, answered: readRequests(setUp) }
}

/** Returns how those calls were answered. */
export async function freePool(): Promise<string> {
  const { client, answered } = waiting ?? {}
  waiting = undefined
  await client?.query('rollback')
  await client?.end()
  return (await answered) ?? ''
}

async function readRequests({ port, agents }: SetUp): Promise<string> {
  const connections = new Agent({ keepAlive: true })
  const tally: Record<string, number> = {}
  let withoutRetryAfter = 0
  const read = async (index: number) => {
    const token = agents[index % agents.length]?.token ?? ''
    const path = `/v4/access-requests/arq_${String(index).padStart(26, '0')}`
    const outcome = await callService({ PORT: String(port) }, connections, 'GET', path, { token }).then(
      ({ status, headers, body }) => {
        if (status === 503 && headers['retry-after'] === undefined) withoutRetryAfter++
        return `${status} ${(body as { error?: { code: string } } | undefined)?.error?.code ?? ''}`.trim()
      },
      (error: unknown) => (error as { code?: string }).code ?? String(error),
    )
    tally[outcome] = (tally[outcome] ?? 0) + 1
  }
  await Promise.all(Array.from({ length: requestsAtOnce }, (_, index) => read(index)))
  connections.destroy()
  const counts = Object.entries(tally).map(([outcome, count]) => `${count} × ${outcome}`)
  return `the calls that wait: ${counts.join(', ')}, ${withoutRetryAfter} without Retry-After`
}
