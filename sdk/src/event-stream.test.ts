import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventsIn } from './event-stream.ts'
import { followEvents } from './events.ts'
import type { ServiceEvent } from './events.ts'
import { SallyportError } from './errors.ts'
import type { Transport } from './transport.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

function streamOf(parts: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const event of events) list.push(event)
  return list
}

const text = [
  'retry: 2000\nevent: ready\ndata: {}\n\n',
  ':\n\n',
  'event: changed\r\ndata: {"topics":\r\ndata: ["grants"]}\r\n\r\n',
  'id: 7\ndata: "grüße"\n\n',
  'event: empty\n\n',
  'event: broken\ndata: {\n\n',
  'event:tight\ndata:1\n\n',
  'event: unfinished\ndata: 2\n',
].join('')
const events = [
  { event: 'ready', data: {} },
  { event: 'changed', data: { topics: ['grants'] } },
  { event: 'message', data: 'grüße' },
  { event: 'tight', data: 1 },
]

test('events are parsed however they are split into chunks', async () => {
  const whole = bytes(text)
  for (const size of [1, 2, 3, 7, whole.length]) {
    const parts = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
      whole.subarray(at * size, (at + 1) * size),
    )
    assert.deepEqual(await all(eventsIn(streamOf(parts))), events, `in pieces of ${size}`)
  }
})

test('a silent stream or an endless event is disconnected', async () => {
  let isCancelled = false
  const silent = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(bytes('data: 1\n\n'))
    },
    cancel: () => {
      isCancelled = true
    },
  })
  assert.deepEqual(await all(eventsIn(silent, 20)), [{ event: 'message', data: 1 }])
  assert.ok(isCancelled)
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      controller.enqueue(new Uint8Array(300_000).fill(97))
    },
  })
  assert.deepEqual(await all(eventsIn(endless)), [])
})

/** A service that sends these responses in order. */
function served(...answers: (string | Error)[]): { transport: Transport; opened: () => number } {
  let opened = 0
  const open = async () => {
    const answer = answers[Math.min(opened++, answers.length - 1)]
    if (typeof answer === 'string') return new Response(answer)
    throw answer ?? new Error('there is none')
  }
  return { transport: { open } as unknown as Transport, opened: () => opened }
}

const ready = 'event: ready\ndata: {}\n\n'
const ended = (reason: string) => `event: ended\ndata: {"reason":"${reason}"}\n\n`

test('a lost connection is reopened and starts with ready; an ended session is final', async () => {
  const away = new SallyportError('not_ready', 'no', { retryable: true })
  const { transport, opened } = served(ready, away, `${ready}${ended('stopping')}`, `${ready}${ended('session_over')}`)
  const names = (await all(followEvents(transport))).map(({ event }: ServiceEvent) => event)
  assert.deepEqual(names, ['ready', 'ready', 'ready', 'ended'])
  assert.equal(opened(), 4)
})

test('a permanent refusal is thrown, and an abort ends the stream quietly', async () => {
  const refused = served(new SallyportError('unauthenticated', 'no', { status: 401 }))
  await assert.rejects(all(followEvents(refused.transport)), { code: 'unauthenticated' })
  const controller = new AbortController()
  const { transport } = served(ready)
  for await (const { event } of followEvents(transport, { signal: controller.signal })) {
    assert.equal(event, 'ready')
    controller.abort()
  }
})
