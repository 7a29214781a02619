/** Forwards bytes to a server until it is told to go silent: open connections then stay open without any data. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface SilentRelay {
  port: number
  /** Silences every open connection: no data, FIN or reset passes any more. New connections work. */
  silence: () => void
  /** The same, and new connections are accepted but silent too. */
  silenceFromNowOn: () => void
  /** Data passes again on every connection, as after a network partition. */
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
      // A refusal or reset by the server is passed on to the client.
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
