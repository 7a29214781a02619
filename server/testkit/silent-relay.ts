/** Passes bytes on to a server, until it is told to go silent: what is open then stays open, and nothing comes through. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface SilentRelay {
  port: number
  /** On every connection that is open now: no byte, no end and no reset comes through any more. New ones work. */
  silence: () => void
  /** The same, and on new connections too: they are accepted, and that is all. */
  silenceFromNowOn: () => void
  /** Bytes come through again on every connection, as after a network partition. */
  resume: () => void
}

type Pair = [client: Socket, target: Socket]

export async function startSilentRelay(t: Pick<TestContext, 'after'>, port: number): Promise<SilentRelay> {
  const pairs = new Set<Pair>()
  const silent = new Set<Pair>()
  let isSilent = false
  const silence = () => {
    for (const pair of pairs) {
      silent.add(pair)
      for (const socket of pair) socket.unpipe().pause()
    }
  }
  const join = ([client, target]: Pair) => {
    client.pipe(target)
    target.pipe(client)
  }
  const end = (pair: Pair) => {
    pairs.delete(pair)
    for (const socket of pair) socket.destroy()
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const pair: Pair = [client, target]
    pairs.add(pair)
    if (isSilent) silent.add(pair)
    else join(pair)
    for (const socket of pair) {
      socket.on('error', () => undefined)
      // A server that refuses or resets does so to the client too.
      socket.on('close', () => {
        if (!silent.has(pair)) end(pair)
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    pairs.forEach(end)
  })
  return {
    port: (server.address() as AddressInfo).port,
    silence,
    silenceFromNowOn: () => {
      isSilent = true
      silence()
    },
    resume: () => {
      isSilent = false
      silent.clear()
      for (const pair of pairs) {
        if (pair.some(({ destroyed }) => destroyed)) end(pair)
        else join(pair)
      }
    },
  }
}
