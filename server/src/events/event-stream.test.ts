import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createEventStream } from './event-stream.ts'

test('changes in quick succession are batched', async () => {
  const { readable, tell, end } = createEventStream()
  const chunks = readable.iterator()
  const read = async () => String((await chunks.next()).value)
  tell(['grants'])
  tell(['activity', 'grants'])
  assert.equal(await read(), 'event: changed\ndata: {"topics":["grants","activity"]}\n\n')
  tell(['devices'])
  tell(['me'])
  assert.equal(await read(), 'event: changed\ndata: {"topics":["devices","me"]}\n\n')
  end('stopping')
  assert.equal(await read(), 'event: ended\ndata: {"reason":"stopping"}\n\n')
  tell(['grants'])
  assert.equal((await chunks.next()).done, true)
})

test('an empty list of changes sends nothing', async () => {
  const { readable, tell, end } = createEventStream()
  tell([])
  end('session_over')
  const chunks = await readable.toArray()
  assert.equal(Buffer.concat(chunks).toString(), 'event: ended\ndata: {"reason":"session_over"}\n\n')
})

test('a reader that does not read is dropped, with its buffer', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const client = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false })
  client.on('error', () => undefined)
  t.after(() => client.destroy())
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  // As if the network took nothing any more.
  response.socket?.cork()
  const { readable, beat, end } = createEventStream()
  readable.pipe(response)
  let beats = 0
  for (; !readable.destroyed && beats < 100_000; beats++) {
    beat()
    if (beats % 100 === 0) await new Promise(setImmediate)
  }
  assert.ok(readable.destroyed && beats < 20_000, `${beats} beats`)
  beat()
  end('stopping')
  assert.equal(readable.destroyed, true)
})
