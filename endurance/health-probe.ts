/**
 * Its own process: requests `/healthz` every 20 ms, without waiting for the previous response, and calls through the
 * service meanwhile, so that there is always something to write. Reports the longest wait.
 */
import { Agent, request } from 'node:http'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { callService } from '../e2e/http-call.ts'
import type { AgentCredentials } from './attack.ts'
import { paths } from './upstream.ts'

export interface ProbeOrder {
  port: number
  upstreamHost: string
  agents: AgentCredentials[]
}

export interface Probed {
  asked: number
  /** Milliseconds. */
  longest: number
  calls: number
  longestCall: number
  failures: string[]
}

const everyMs = 20
const callEveryMs = 50

/** Until the signal is aborted. */
async function probe({ port, upstreamHost, agents }: ProbeOrder, signal: AbortSignal): Promise<Probed> {
  const connections = new Agent({ keepAlive: true })
  const callers = new Agent({ keepAlive: true })
  const result: Probed = { asked: 0, longest: 0, calls: 0, longestCall: 0, failures: [] }
  const askHealth = async () => {
    const began = performance.now()
    const asked = request({ host: '127.0.0.1', port, path: '/healthz', agent: connections }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    await once(answer.resume(), 'end')
    result.longest = Math.max(result.longest, performance.now() - began)
    result.asked++
    if (answer.statusCode !== 200) throw new Error(`/healthz: ${answer.statusCode}`)
  }
  const call = async () => {
    const { token, grantId } = agents[result.calls % agents.length] as AgentCredentials
    const body = { grant_id: grantId, method: 'GET', url: `https://${upstreamHost}${paths.small}/${result.calls}` }
    const began = performance.now()
    const reply = await callService({ PORT: String(port) }, callers, 'POST', '/v4/proxy', { token, body })
    result.longestCall = Math.max(result.longestCall, performance.now() - began)
    if (reply.status !== 200) throw new Error(`a call: ${reply.status} ${reply.text.slice(0, 200)}`)
  }
  const repeat = async (ms: number, work: () => Promise<void>) => {
    const under: Promise<unknown>[] = []
    while (!signal.aborted) {
      under.push(work().catch((error: unknown) => result.failures.push(String(error))))
      await sleep(ms)
    }
    await Promise.all(under)
  }
  await Promise.all([
    repeat(everyMs, askHealth),
    repeat(callEveryMs, async () => {
      result.calls++
      await call()
    }),
  ])
  connections.destroy()
  callers.destroy()
  return result
}

let ending = new AbortController()
process.on('disconnect', () => process.exit())
process.on('message', (order: ProbeOrder | 'end') => {
  if (order === 'end') {
    ending.abort()
    return
  }
  ending = new AbortController()
  probe(order, ending.signal).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
