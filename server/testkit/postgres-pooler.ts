/**
 * A pooler between clients and a PostgreSQL server, on loopback, without passwords or TLS. In session mode each client
 * has its own connection. In transaction mode it takes the connection back after each transaction. Like PgBouncer it
 * refuses unknown parameters in a startup message.
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'

const known = ['user', 'database', 'client_encoding', 'datestyle', 'timezone', 'application_name']
const readyForQuery = 'Z'.charCodeAt(0)
const isIdle = 'I'.charCodeAt(0)

/** A connection to the server, and the client that gets its messages. */
interface ServerLink {
  socket: Socket
  tell: (message: Buffer) => void
}

export async function startPooler(
  t: Pick<TestContext, 'after'>,
  port: number,
  mode: 'session' | 'transaction',
): Promise<{ port: number }> {
  const idle: ServerLink[] = []
  const sockets = new Set<Socket>()

  const open = (startup: Buffer, tell: ServerLink['tell']): ServerLink => {
    const socket = connect({ port, host: '127.0.0.1' })
    const link = { socket, tell }
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on(
      'data',
      inMessages(1, (message) => {
        link.tell(message)
      }),
    )
    socket.write(startup)
    return link
  }

  const server = createServer((client) => {
    sockets.add(client)
    let startup: Buffer | undefined
    let link: ServerLink | undefined
    const tell = (message: Buffer) => {
      client.write(message)
      const isOver = message[0] === readyForQuery && message[5] === isIdle
      if (!isOver || !link || mode === 'session') return
      idle.push(link)
      link = undefined
    }
    client.on('error', () => undefined)
    client.on('close', () => link?.socket.destroy())
    client.on('data', (chunk) => {
      if (startup === undefined) {
        const unknown = namesIn(chunk).filter((name) => !known.includes(name.toLowerCase()))
        if (unknown.length > 0) {
          client.end(refusal(`unsupported startup parameter: ${unknown.join(', ')}`))
          return
        }
        startup = chunk
        link = open(chunk, tell)
        return
      }
      const next = idle.pop()
      if (!link && next) {
        link = next
        link.tell = tell
      }
      // A new server connection needs a startup first, which the client has already done.
      link ??= open(startup, () => undefined)
      if (link.tell === tell) link.socket.write(chunk)
      else greet(link, tell, chunk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port }
}

function greet(link: ServerLink, tell: ServerLink['tell'], first: Buffer): void {
  link.tell = (message) => {
    if (message[0] !== readyForQuery) return
    link.tell = tell
    link.socket.write(first)
  }
}

/** Every message is a type byte, its length and its content. */
function inMessages(kindBytes: number, take: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= kindBytes + 4) {
      const length = kindBytes + rest.readUInt32BE(kindBytes)
      if (rest.length < length) return
      take(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
  }
}

/** The parameter names of a startup message: after length and version, names and values alternate. */
function namesIn(startup: Buffer): string[] {
  return startup
    .toString('latin1', 8)
    .split('\0')
    .filter((text, index) => index % 2 === 0 && text !== '')
}

function refusal(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`, 'latin1')
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeUInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}
