/** Many concurrent clients, each with its own address. All of 127.0.0.0/8 is loopback. */
import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { callService } from '../../e2e/http-call.ts'
import type { SetUp } from './set-ups.ts'

const registrations = 1_500
const addresses = Array.from({ length: 250 }, (_, index) => `127.0.2.${index + 1}`)
const connections = 2_000
const open = new Set<Socket>()

/** Sends all requests at once. Returns the responses, and how many of the refusals have Retry-After. */
export async function registerAtOnce({ port, kind }: SetUp): Promise<string> {
  const agents = addresses.map((localAddress) => new Agent({ localAddress }))
  const tally: Record<string, number> = {}
  let withoutRetryAfter = 0
  const register = async (index: number) => {
    const agent = agents[index % agents.length] as Agent
    const body = { name: `registers with others (${kind})` }
    const outcome = await callService({ PORT: String(port) }, agent, 'POST', '/v4/agents/register', { body }).then(
      ({ status, headers, body: answer }) => {
        if (status === 201) return '201'
        if (headers['retry-after'] === undefined) withoutRetryAfter++
        return `${status} ${(answer as { error?: { code: string } } | undefined)?.error?.code ?? ''}`.trim()
      },
      (error: unknown) => (error as { code?: string }).code ?? String(error),
    )
    tally[outcome] = (tally[outcome] ?? 0) + 1
  }
  const began = performance.now()
  await Promise.all(Array.from({ length: registrations }, (_, index) => register(index)))
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  const counts = Object.entries(tally).map(([outcome, count]) => `${count} × ${outcome}`)
  const missing = withoutRetryAfter === 0 ? '' : `, ${withoutRetryAfter} without Retry-After`
  return `registrations: ${counts.join(', ')}${missing}, the last after ${seconds} s`
}

export async function openConnections({ port }: SetUp): Promise<string> {
  const opening = Array.from({ length: connections }, async (_, index) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: addresses[index % addresses.length] ?? '' })
    open.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => open.delete(socket))
    await once(socket, 'connect').catch(() => undefined)
  })
  await Promise.all(opening)
  return `${open.size} connections stood`
}

export function closeConnections(): void {
  for (const socket of open) socket.destroy()
}

/** Repeatedly for ten seconds, as an admin. */
export async function exportRecord({ victim }: SetUp): Promise<string> {
  const began = performance.now()
  let records = 0
  let exports = 0
  while (performance.now() - began < 10_000) {
    const { status, text } = await victim.call('GET', '/v4/audit?format=ndjson', { token: victim.adminToken })
    if (status !== 200) throw new Error(`an export was answered ${status}: ${text}`)
    records += text.split('\n').length - 1
    exports++
  }
  return `${exports} exports with ${Math.round(records / exports)} records each`
}
