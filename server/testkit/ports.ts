import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'

/** Browsers block some lower ports. */
const lowest = 10_100
const attempts = 50

/**
 * A free port on loopback outside the ephemeral range, so that another server with port 0
 * does not get it before it is used.
 */
export async function freePort(): Promise<number> {
  const range = Math.max(firstEphemeralPort() - lowest, 10_000)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = lowest + Math.floor(Math.random() * range)
    if ((await canListen(port, '127.0.0.1')) && (await canListen(port, '::1'))) return port
  }
  throw new Error(`no free port in ${attempts} attempts`)
}

function firstEphemeralPort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0])
  } catch {
    // RFC 6335 §6
    return 49_152
  }
}

async function canListen(port: number, host: string): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen({ port, host }), 'listening')
  } catch (error) {
    // On a machine without IPv6 nothing listens there.
    return (error as NodeJS.ErrnoException).code !== 'EADDRINUSE'
  }
  await once(server.close(), 'close')
  return true
}

/** Whether a program accepts connections at this port on loopback. */
export async function isListening(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
