/** A short form of `npm run endurance`: all its attacks at the same time, for a few seconds and at a lower rate. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { runAttacks } from '../endurance/attack.ts'
import { makeGoodCalls } from '../endurance/good-agents.ts'
import { hostileAgentsAttacks } from '../endurance/hostile-agent.ts'
import { recordFaults } from '../endurance/record.ts'
import { strangersAttacks } from '../endurance/stranger.ts'
import { answer } from '../endurance/upstream.ts'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import { startCalling } from './calling.ts'

const seconds = 5
const goodAgents = 8
const mostMebibytes = 256

const mebibytesOf = (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test(
  'under attack other agents get responses and every call is recorded',
  { skip: process.platform !== 'linux' && 'attackers need many loopback addresses, and memory is read from /proc' },
  async (t) => {
    const certificate = await (await sharedAuthority()).issue({ names: ['localhost'], addresses: ['127.0.0.1'] })
    const upstream = await startTlsUpstream(t, certificate, answer)
    const upstreamHost = `localhost:${upstream.port}`
    const { service, agent, grantId, admit } = await startCalling(t, 'sqlite', {
      hosts: [upstreamHost],
      settings: { SALLYPORT_PROXY_RATE_PER_AGENT: '20', SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '50' },
    })
    const { pid, port } = service
    const agents = await Promise.all(Array.from({ length: goodAgents }, admit))
    const before = mebibytesOf(pid)
    let most = 0
    const look = setInterval(() => (most = Math.max(most, mebibytesOf(pid) - before)), 100)
    const victim = { port, upstreamHost, approved: { token: agent.token, grantId } }
    const extent = { signal: AbortSignal.timeout(seconds * 1000), intensity: 0.3 }
    const [made, ...tallies] = await Promise.all([
      makeGoodCalls({ port, upstreamHost, agents, perSecond: 40, seconds, name: 'good' }),
      runAttacks(strangersAttacks, victim, extent),
      runAttacks(hostileAgentsAttacks, victim, extent),
    ])
    clearInterval(look)
    t.diagnostic(`${Math.round(most)} MiB more, ${upstream.requests.length} calls reached the upstream`)
    assert.deepEqual(made.failures, [])
    for (const [name, tally] of tallies.flatMap(Object.entries)) {
      assert.notDeepEqual(tally, {}, `nothing came of the attack "${name}"`)
    }
    assert.ok(most < mostMebibytes, `${Math.round(most)} MiB more`)
    assert.deepEqual(await recordFaults(t, service, upstream.requests), [])
  },
)
