/**
 * The load generator, in its own process: a number of connections with one call at a time each, each call by the next
 * agent. It writes to sockets directly: on a small machine its CPU time would be taken from what is measured.
 */
import { connect } from 'node:net'
import { request } from 'node:http'
import type { Load, Measured, Order } from './load.ts'
import { carryOut, isTunnelOrder } from './tunnels.ts'
import type { Timed, TunnelOrder } from './tunnels.ts'

/** Ends the run and reports the wrong response. */
class WrongAnswer extends Error {}

process.on('disconnect', () => process.exit())
process.on('message', (order: Order | TunnelOrder) => {
  const work = isTunnelOrder(order)
    ? carryOut(order).then(measuredOf)
    : order.kind === 'load'
      ? run(order)
      : stream(order)
  work.then(
    (measured) => process.send?.({ measured }),
    (error: unknown) => process.send?.({ error: error instanceof WrongAnswer ? error.message : String(error) }),
  )
})

async function run({ port, callers, connections, seconds, atLeast, pauseMs = 0 }: Load): Promise<Measured> {
  const requests = callers.map(({ token, body }) => toRequest(port, token, body))
  const latencies: number[] = []
  let next = 0
  const started = performance.now()
  const end = started + seconds * 1000
  const take = () => {
    if (performance.now() >= end && next >= atLeast) return undefined
    return requests[next++ % requests.length]
  }
  const clients = Array.from({ length: connections }, () => client(port, take, (ms) => latencies.push(ms), pauseMs))
  await Promise.all(clients)
  const elapsed = (performance.now() - started) / 1000
  return measuredOf({ latencies, seconds: elapsed })
}

function measuredOf({ latencies, seconds }: Timed): Measured {
  latencies.sort((one, other) => one - other)
  const quantile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return { calls: latencies.length, seconds, p50: quantile(0.5), p99: quantile(0.99) }
}

function toRequest(port: number, token: string, body: string): Buffer {
  const head = [
    'POST /v4/proxy HTTP/1.1',
    `host: localhost:${port}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** One connection, until all calls are made. Anything but a 200 with an upstream status of 200 ends the run. */
function client(
  port: number,
  take: () => Buffer | undefined,
  onAnswer: (ms: number) => void,
  pauseMs: number,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let began = 0
  let head = ''
  let left = -1
  const ask = () => {
    const bytes = take()
    if (!bytes) {
      socket.destroy()
      resolve(undefined)
      return
    }
    began = performance.now()
    socket.write(bytes)
  }
  socket.on('connect', ask)
  socket.on('data', (chunk) => {
    if (left < 0) {
      head += chunk.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      // The first member of the response is the upstream's status.
      if (end === -1 || head.length < end + 17) return
      const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(head) ?? []
      if (length === undefined || !head.startsWith('HTTP/1.1 200') || !head.startsWith('{"status":200', end + 4)) {
        socket.destroy()
        reject(new WrongAnswer(`answered with ${head.slice(0, 1000)}`))
        return
      }
      left = Number(length) - (head.length - end - 4)
    } else {
      left -= chunk.length
    }
    if (left > 0) return
    head = ''
    left = -1
    onAnswer(performance.now() - began)
    if (pauseMs > 0) setTimeout(ask, pauseMs)
    else ask()
  })
  socket.on('error', reject)
  socket.on('close', () => {
    reject(new WrongAnswer(`a connection was closed after ${head}`))
  })
  return promise
}

/** One response, read as fast as it arrives. */
async function stream({ port, caller, bytes }: Extract<Order, { kind: 'stream' }>): Promise<Measured> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const started = performance.now()
  const headers = { authorization: `Bearer ${caller.token}`, 'content-type': 'application/json' }
  const call = request({ host: '127.0.0.1', port, method: 'POST', path: '/v4/proxy', headers }, (response) => {
    let received = 0
    response.on('data', (chunk: Buffer) => (received += chunk.length))
    response.on('end', () => {
      if (response.statusCode === 200 && received === bytes) resolve(performance.now() - started)
      else reject(new WrongAnswer(`a stream was answered with ${response.statusCode} and ${received} bytes`))
    })
    response.on('error', reject)
  })
  call.on('error', reject)
  call.setHeader('host', `localhost:${port}`)
  call.end(caller.body)
  const ms = await promise
  return { calls: 1, seconds: ms / 1000, p50: ms, p99: ms }
}
