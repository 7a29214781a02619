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
  open: () => number
}

export async function startSilentRelay(t: Pick<TestContext, 'after'>, port: number): Promise<SilentRelay> {
  const pairs = new Set<[Socket, Socket]>()
  let isSilent = false
  const silence = () => {
    for (const [client, target] of pairs) {
      client.unpipe().pause()
      target.unpipe().pause()
    }
  }
  const join = ([client, target]: [Socket, Socket]) => {
    client.pipe(target)
    target.pipe(client)
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const pair: [Socket, Socket] = [client, target]
    pairs.add(pair)
    if (isSilent) client.pause()
    else join(pair)
    for (const socket of pair) {
      socket.on('error', () => undefined)
      socket.on('close', () => pairs.delete(pair))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const pair of pairs) for (const socket of pair) socket.destroy()
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
      for (const pair of pairs) join(pair)
    },
    open: () => pairs.size,
  }
}
