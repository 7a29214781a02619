/** Calls that are cut off when the service stops: each has to be on record with its outcome. */
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { callService } from '../../e2e/http-call.ts'
import { paths } from '../upstream.ts'
import type { SetUp } from './set-ups.ts'

const calls = 20

const nameOf = ({ kind }: SetUp) => `cut-off-${kind.replaceAll(/[^\w]+/g, '-')}`

/** Half of them are streamed. The API does not answer any. */
export async function stopDuringCalls(setUp: SetUp): Promise<void> {
  const { world, victim, agents } = setUp
  await world.failing.set('hangs')
  const connections = new Agent({ keepAlive: true })
  const made = agents.slice(0, calls).map(({ token, grantId }, index) => {
    const url = `https://${world.failing.host}${paths.small}/${nameOf(setUp)}-${index}`
    const body = { grant_id: grantId, method: 'GET', url, timeout_ms: 60_000, stream: index % 2 === 0 }
    const call = callService(victim.env, connections, 'POST', '/v4/proxy', { token, body })
    return call.catch(() => undefined)
  })
  // Until all of them have reached the API.
  await sleep(2_000)
  await victim.stop()
  await Promise.all(made)
  connections.destroy()
}

interface Shown {
  detail: { path?: string }
  outcome: string | null
  result: { code?: string } | null
}

/** Says what is missing; empty if each call has its outcome. */
export async function missingOutcomes(setUp: SetUp): Promise<string> {
  const { victim } = setUp
  const { text } = await victim.call('GET', '/v4/audit?event=proxy.attempt&format=ndjson', { token: victim.adminToken })
  const lines = text.split('\n').filter((line) => line.includes(nameOf(setUp)))
  const records = lines.map((line) => JSON.parse(line) as Shown)
  const stopped = records.filter(({ outcome, result }) => outcome === 'failed' && result?.code === 'service_stopped')
  if (records.length === calls && stopped.length === calls) return ''
  return `of ${calls} calls cut off ${records.length} are on record, and ${stopped.length} with their outcome`
}
