/** A DNS server on loopback, over UDP, with the names it is given. It can be told not to respond for some. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import type { TestContext } from 'node:test'

/** Addresses of both families; `silent` for no response. Other names do not exist. */
export type Names = Record<string, string[] | 'silent' | 'silent for IPv6'>

export interface NameServer {
  /** `address:port`. */
  address: string
  /** The queries so far: `A name`, `AAAA name`. */
  asked: string[]
  names: Names
}

const types = { A: 1, AAAA: 28 }
const noSuchName = 3

export async function startNameServer(t: Pick<TestContext, 'after'>, names: Names): Promise<NameServer> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  const server = { asked, names, address: '' }
  socket.on('message', (question, { port, address }) => {
    const { name, type, end } = readQuestion(question)
    asked.push(`${type === types.A ? 'A' : 'AAAA'} ${name}`)
    const known = server.names[name]
    if (known === 'silent' || (known === 'silent for IPv6' && type === types.AAAA)) return
    const addresses = known === 'silent for IPv6' ? ['127.0.0.1'] : (known ?? [])
    const fitting = addresses.filter((one) => isIPv4(one) === (type === types.A))
    const header = Buffer.alloc(12)
    question.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8180 | (known ? 0 : noSuchName), 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(fitting.length, 6)
    const answers = fitting.map((one) => answerOf(type, one))
    socket.send(Buffer.concat([header, question.subarray(12, end), ...answers]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => {
    socket.close()
  })
  server.address = `127.0.0.1:${socket.address().port}`
  return server
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

function answerOf(type: number, address: string): Buffer {
  const data = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address)
  const head = Buffer.alloc(12)
  // A pointer to the name in the question.
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function ipv6Bytes(address: string): Buffer {
  const [before = '', after = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const missing = 8 - groups(before).length - groups(after).length
  const all = [...groups(before), ...Array<string>(missing).fill('0'), ...groups(after)]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
