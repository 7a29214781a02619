/** The gateway beside a bare proxy that terminates TLS, and mitmproxy: calls in tunnels, first answers of new hosts, memory. */
import type { Environment } from '../e2e/running-service.ts'
import { freePort } from '../server/testkit/ports.ts'
import { startSeeded } from './contenders.ts'
import type { Outside } from './contenders.ts'
import { drive } from './load.ts'
import { findMitmdump, startMitmproxy } from './mitmproxy.ts'
import { memoryOf, startListener } from './processes.ts'
import { mebibytes, micros, millis, perSecond, spread } from './report.ts'
import type { Row } from './report.ts'
import { compareBy, median, medianOf, ratios } from './rounds.ts'
import type { Comparison } from './rounds.ts'
import type { Bench } from './scenarios.ts'
import { startTestUpstream } from './test-upstream.ts'
import type { Protocol, Proxy } from './tunnels.ts'

interface Contender {
  name: string
  pid: number
  port: number
  proxy: Proxy
}

const connections = 16
/** Until then V8 has not compiled what calls need. mitmproxy is Python. */
const callsOfWarmUp = 10_000
const protocols: Protocol[] = ['http/1.1', 'h2']
/** Each agent may call 20 new hosts a minute. */
const hostsPerAgent = 20
const idleTunnels = 200

export async function gatewayTunnels(bench: Bench): Promise<Row[]> {
  const { scope, generator, pace, say } = bench
  const { rounds } = pace
  // Addresses as names: no name server has as many that lead to this machine.
  const addresses = Array.from(
    { length: rounds * hostsPerAgent },
    (_, index) => `127.0.${1 + (index >> 7)}.${1 + (index & 127)}`,
  )
  const upstream = await startTestUpstream(scope, addresses)
  const { host } = upstream
  const outside: Outside = { ...upstream, profiles: bench.outside.profiles }
  const others = addresses.map((address) => host.replace('localhost', address))

  const relay = await startRelay(bench, upstream)
  const gateway = await startGateway(bench, outside, { agents: connections })
  const program = findMitmdump(say)
  if (program === undefined) say('without mitmproxy: it is not installed, and could not be installed from PyPI')
  const mitmproxy = program === undefined ? [] : [await startMitmproxy(scope, program, upstream.caFile)]
  const all: Contender[] = [relay, gateway, ...mitmproxy]

  const rows: Row[] = []
  for (const protocol of protocols) {
    // mitmproxy speaks HTTP/2 to the API as well if the tool does, and this API does not.
    const contenders = protocol === 'h2' ? [relay, gateway] : all
    const compareAt = (count: number) =>
      compareBy(contenders, pace, say, (contender, seconds, isWarmUp) =>
        drive(generator, contender, {
          ...{ kind: 'tunnels', proxy: contender.proxy, protocol, host, path: '/small' },
          ...{ connections: count, seconds, atLeast: isWarmUp && contender.name !== 'mitmproxy' ? callsOfWarmUp : 0 },
        }),
      )
    rows.push(...throughputRows(protocol, await compareAt(connections)), ...latencyRows(protocol, await compareAt(1)))
  }
  rows.push(...(await firstAnswers(bench, outside, { relay, mitmproxy, others })))
  return [...rows, ...(await transfers(bench, gateway, host)), await idle(bench, outside)]
}

async function startRelay(
  { scope }: Bench,
  { caFile, files }: { caFile: string; files: { cert: string; key: string; ca: string } },
): Promise<Contender> {
  const listener = await startListener(scope, 'tunnel-relay.ts', [caFile, files.cert, files.key])
  return {
    name: 'bare relay',
    ...listener,
    proxy: { port: listener.port, ca: files.ca, credentials: ['Basic bm9ib2R5Og=='] },
  }
}

/** Each of its agents has a key for one grant. */
async function startGateway(
  { scope, say }: Bench,
  outside: Outside,
  { agents, otherHosts = [] }: { agents: number; otherHosts?: string[] },
): Promise<Contender> {
  const gatewayPort = await freePort()
  const settings: Environment = {
    SALLYPORT_GATEWAY_PORT: String(gatewayPort),
    SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8',
    SALLYPORT_PROXY_RATE_PER_AGENT: '1000000',
  }
  const size = { agents, grantsPerAgent: 1, auditRecords: 0, otherHosts }
  const { service, pid, agents: seeded } = await startSeeded(scope, 'sqlite', outside, size, say, settings)
  const credentials: string[] = []
  for (const { token, grantId } of seeded) {
    const made = await service.call('POST', '/v4/agents/keys', {
      token,
      body: { grant_ids: [grantId] },
    })
    if (made.status !== 201) throw new Error(`a key was answered ${made.status}: ${made.text}`)
    const { key } = made.body as { key: string }
    credentials.push(`Basic ${Buffer.from(`tool:${key}`).toString('base64')}`)
  }
  const { text: ca } = await service.call('GET', '/v4/gateway/ca.pem')
  return { name: 'gateway', pid, port: gatewayPort, proxy: { port: gatewayPort, ca, credentials } }
}

function throughputRows(protocol: Protocol, [relay, ...others]: Comparison<Contender>[]): Row[] {
  if (!relay) return []
  const figures = (one: Comparison<Contender>) =>
    `${perSecond(medianOf(one, (round) => round.perSecond))}, ${micros(medianOf(one, (round) => round.cpuPerCall))}`
  return others.map((one) => {
    const all = ratios(one, relay)
    const isOurs = one.contender.name === 'gateway'
    return {
      what: `${one.contender.name}, compared with a bare relay, ${protocol}, ${connections} connections`,
      theirs: figures(relay),
      ours: figures(one),
      result: spread(all, median(all)),
      bar: isOurs ? '≥ 0.60' : '',
      isMet: isOurs ? median(all) >= 0.6 : undefined,
    }
  })
}

function latencyRows(protocol: Protocol, [relay, ...others]: Comparison<Contender>[]): Row[] {
  if (!relay) return []
  const p50 = (one: Comparison<Contender>) => medianOf(one, (round) => round.p50)
  return others.map((one) => ({
    what: `${one.contender.name}, compared with a bare relay, ${protocol}, one connection, p50`,
    theirs: millis(p50(relay)),
    ours: millis(p50(one)),
    result: `+ ${millis(p50(one) - p50(relay))}`,
    bar: '',
    isMet: undefined,
  }))
}

interface NewHosts {
  relay: Contender
  mitmproxy: Contender[]
  /** Hosts without a certificate or a connection yet. */
  others: string[]
}

/** From the connection to the proxy to the end of the answer: tunnel, certificate, handshakes on both sides, call. */
async function firstAnswers(bench: Bench, outside: Outside, { relay, mitmproxy, others }: NewHosts): Promise<Row[]> {
  const { generator, pace, say } = bench
  const { rounds } = pace
  const gateway = await startGateway(bench, outside, { agents: rounds, otherHosts: others })
  const contenders = [relay, gateway, ...mitmproxy]
  const medians = new Map<Contender, number[]>(contenders.map((one) => [one, []]))
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      const hosts = others.slice(round * hostsPerAgent, (round + 1) * hostsPerAgent)
      const credential = contender.proxy.credentials[round % contender.proxy.credentials.length] ?? ''
      const { p50 } = await drive(generator, contender, {
        ...{ kind: 'first', protocol: 'http/1.1', path: '/small', hosts },
        proxy: { ...contender.proxy, credentials: [credential] },
      })
      medians.get(contender)?.push(p50)
      say(`round ${round + 1} of ${rounds}: ${contender.name} ${millis(p50)}`)
    }
  }
  const of = (one: Contender) => median(medians.get(one) ?? [])
  return contenders.slice(1).map((one) => {
    const more = of(one) - of(relay)
    const isOurs = one === gateway
    return {
      what: `${one.name}, compared with a bare relay, first answer of a new host`,
      theirs: millis(of(relay)),
      ours: millis(of(one)),
      result: `+ ${millis(more)}`,
      bar: isOurs ? '≤ + 10 ms' : '',
      isMet: isOurs ? more <= 10 : undefined,
    }
  })
}

async function transfers({ generator, say }: Bench, gateway: Contender, host: string): Promise<Row[]> {
  const bytes = 1024 ** 3
  const rows: Row[] = []
  for (const direction of ['up', 'down'] as const) {
    const run = (size: number) =>
      drive(generator, gateway, {
        kind: 'transfer',
        proxy: gateway.proxy,
        protocol: 'http/1.1',
        host,
        direction,
        bytes: size,
      })
    // Warm-up: it grows to the heap size that V8 keeps for garbage.
    await run(bytes / 4)
    const before = memoryOf(gateway.pid)
    const { seconds } = await run(bytes)
    const grown = Math.max(0, memoryOf(gateway.pid).peak - Math.max(before.now, before.peak))
    say(`${direction}: ${mebibytes(bytes / seconds)}/s`)
    rows.push({
      what: `gateway, ${mebibytes(bytes)} ${direction}, memory`,
      theirs: `${mebibytes(before.now)} before`,
      ours: `${mebibytes(bytes / seconds)}/s`,
      result: `peak + ${mebibytes(grown)}`,
      bar: '< 32 MiB',
      isMet: grown < 32 * 1024 ** 2,
    })
  }
  return rows
}

/** In a process that has done nothing else: memory that earlier work left free would hide what tunnels take. */
async function idle(bench: Bench, outside: Outside): Promise<Row> {
  const { generator } = bench
  const { host } = outside
  const gateway = await startGateway(bench, outside, { agents: connections })
  const order = { kind: 'idle' as const, proxy: gateway.proxy, protocol: 'http/1.1' as const, host, path: '/small' }
  // An agent opens 20 a second.
  const pauseMs = 5
  await drive(generator, gateway, { ...order, tunnels: connections, pauseMs })
  const before = memoryOf(gateway.pid).now
  await drive(generator, gateway, { ...order, tunnels: idleTunnels, pauseMs })
  const after = memoryOf(gateway.pid).now
  return {
    what: `gateway, ${idleTunnels} idle tunnels, each after a call`,
    theirs: mebibytes(before),
    ours: mebibytes(after),
    result: `+ ${mebibytes(after - before)}`,
    bar: '< 40 MiB',
    isMet: after - before < 40 * 1024 ** 2,
  }
}
