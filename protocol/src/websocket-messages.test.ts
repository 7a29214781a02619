import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenRule, closeMessage, createMessageReader, frameOf } from './websocket-messages.ts'
import type { Message, MessageKind, ReaderOptions } from './websocket-messages.ts'

const fromServer: ReaderOptions = { isFromClient: false, maxMessageBytes: 100_000 }

function readAll(bytes: Buffer, options: ReaderOptions, step = bytes.length): Message[] {
  const read = createMessageReader(options)
  const messages: Message[] = []
  for (let from = 0; from < bytes.length; from += step) messages.push(...read(bytes.subarray(from, from + step)))
  return messages
}

test('a message is read as it was written, in pieces of any length', () => {
  const sent: [MessageKind, Buffer][] = [
    ['text', Buffer.from('')],
    ['text', Buffer.from('ä€')],
    ['ping', Buffer.alloc(125, 1)],
    ['binary', Buffer.alloc(125, 2)],
    ['binary', Buffer.alloc(126, 3)],
    ['pong', Buffer.alloc(0)],
    ['binary', Buffer.alloc(70_000, 4)],
    ['close', closeMessage(4999, 'bye').data],
  ]
  for (const isFromClient of [true, false]) {
    const bytes = Buffer.concat(sent.map(([kind, data]) => frameOf({ kind, data }, { isFromClient })))
    for (const step of [1, 2, 3, 1000, bytes.length]) {
      const messages = readAll(bytes, { isFromClient, maxMessageBytes: 100_000 }, step)
      assert.deepEqual(
        messages.map(({ kind, data }) => [kind, data]),
        sent,
      )
    }
  }
})

test('fragments are joined, and control frames between them come first', () => {
  const bytes = Buffer.from([0x01, 1, 0x61, 0x89, 0, 0x00, 0, 0x00, 1, 0x62, 0x80, 1, 0x63, 0x81, 1, 0x64])
  const messages = readAll(bytes, fromServer, 1)
  assert.deepEqual(
    messages.map(({ kind, data }) => `${kind} ${data.toString()}`),
    ['ping ', 'text abc', 'text d'],
  )
})

test('a message takes up the memory that has arrived, and no more than there is', () => {
  let taken = 0
  const takeRoom = (bytes: number) => {
    taken = bytes
    return bytes <= 1000
  }
  const read = createMessageReader({ ...fromServer, takeRoom })
  // It announces 60,000 bytes.
  assert.deepEqual([...read(Buffer.from([0x82, 126, 0xea, 0x60, 1, 2, 3]))], [])
  assert.ok(taken < 10, String(taken))
  assert.throws(() => [...read(Buffer.alloc(5000))], { code: 1009 })
  const whole = createMessageReader({ ...fromServer, takeRoom })
  assert.equal([...whole(frameOf({ kind: 'binary', data: Buffer.alloc(900) }, fromServer))].length, 1)
  assert.equal(taken, 0)
})

test('a length that does not fit is refused before its bytes arrive', () => {
  const long = [0x82, 127, 0, 0, 0, 0, 0, 0x01, 0x86, 0xa1]
  assert.throws(() => readAll(Buffer.from(long), fromServer, 1), BrokenRule)
  const first = Buffer.concat([Buffer.from([0x02, 126, 0xea, 0x60]), Buffer.alloc(60_000)])
  assert.throws(() => readAll(Buffer.concat([first, Buffer.from([0x80, 126, 0xea, 0x60])]), fromServer), {
    code: 1009,
  })
})

test('a reason that is too long is cut, or left out if that would break a character', () => {
  const reasonOf = ({ data }: Message) => data.toString('utf8', 2)
  assert.equal(reasonOf(closeMessage(1008, 'a'.repeat(200))), 'a'.repeat(123))
  assert.equal(reasonOf(closeMessage(1008, 'ä'.repeat(100))), '')
})
