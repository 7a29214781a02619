import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixedClock } from '../../../testkit/clock.ts'
import type { EgressRequest } from '../egress/egress.ts'
import type { LoopbackAnswer } from '../egress/loopback-http.ts'
import { ServiceError } from '../errors.ts'
import { createLog } from '../operations/log.ts'
import { createExporter } from './exporter.ts'
import type { Span } from './otlp.ts'
import { parseOtlpHeaders } from './otlp-settings.ts'

const span: Span = {
  ...{ traceId: '1'.repeat(32), spanId: '1'.repeat(16), parentSpanId: undefined, name: 'one', kind: 'internal' },
  ...{ startMs: 0, endMs: 1, attributes: {}, isFailed: false },
}

/** Requests stay open until the test answers them. */
function startExporter() {
  const open: ((status: number | ServiceError, retryAfter?: string) => void)[] = []
  const clock = fixedClock()
  const sizes: number[] = []
  const lines: string[] = []
  let dropped = 0
  const exporter = createExporter({
    endpoint: new URL('https://collector.example/base/'),
    headers: [],
    clock: clock.now,
    collect: ({ url }: EgressRequest) => {
      assert.match(url.href, /^https:\/\/collector\.example\/base\/v1\/(?:traces|metrics)$/)
      return new Promise<Pick<LoopbackAnswer, 'status' | 'headers'>>((resolve, reject) => {
        open.push((status, retryAfter) => {
          if (status instanceof ServiceError) reject(status)
          else resolve({ status, headers: retryAfter === undefined ? [] : [['Retry-After', retryAfter]] })
        })
      })
    },
    encodeSpans: ({ length }) => (sizes.push(length), ''),
    encodeMetrics: () => Promise.resolve(''),
    onDropped: (spans) => (dropped += spans),
    log: createLog({ logLevel: 'info', logFormat: 'json' }, { write: (line) => lines.push(line) }),
  })
  const addMany = (count: number) => {
    for (let index = 0; index < count; index++) exporter.add(span)
  }
  const turn = () => new Promise(setImmediate)
  return { exporter, clock, open, sizes, lines, addMany, turn, dropped: () => dropped }
}

test('while the collector does not answer, one request is open and the queue is bounded', async () => {
  const { exporter, open, sizes, addMany, turn, dropped } = startExporter()
  addMany(512)
  await turn()
  assert.deepEqual([open.length, sizes], [1, [512]])
  addMany(100_000)
  for (let times = 0; times < 100; times++) void exporter.exportMetrics()
  await turn()
  assert.deepEqual([open.length, dropped()], [1, 100_000 - 4096])
})

test('what a collector refuses is dropped with what waits for it, counted, and logged once', async () => {
  const { exporter, open, lines, addMany, turn, dropped } = startExporter()
  addMany(600)
  const ended = exporter.exportSpans()
  await turn()
  open.shift()?.(400)
  await ended
  assert.equal(dropped(), 600)
  addMany(600)
  await turn()
  assert.equal(open.length, 0, 'a collector that fails is not asked before the next export is due')
  void exporter.exportSpans()
  await turn()
  open.shift()?.(new ServiceError('upstream_unreachable', { detail: 'host: hush' }))
  await turn()
  assert.equal(dropped(), 1200)
  addMany(1)
  void exporter.exportSpans()
  await turn()
  open.shift()?.(200)
  await turn()
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { msg: string; reason?: string }).reason ?? 'fine'),
    ['http_400', 'fine'],
  )
})

for (const status of [429, 502, 503, 504]) {
  test(`what a collector does not take now (${status}) is sent again after Retry-After, in order and once`, async () => {
    const { exporter, clock, open, sizes, addMany, turn, dropped } = startExporter()
    addMany(600)
    const first = exporter.exportSpans()
    await turn()
    open.shift()?.(status, '30')
    await first
    addMany(10)
    for (const seconds of [1, 28]) {
      clock.advance(seconds)
      await Promise.all([exporter.exportSpans(), exporter.exportMetrics()])
      assert.equal(open.length, 0, 'it is asked too early')
    }
    clock.advance(2)
    const second = exporter.exportSpans()
    for (let sent = 0; sent < 2; sent++) {
      await turn()
      open.shift()?.(200)
    }
    await second
    assert.deepEqual([sizes, dropped()], [[512, 512, 98], 0])
    await exporter.exportSpans()
    assert.equal(open.length, 0, 'nothing is left')
  })
}

test('what waits for a collector that is overloaded is bounded, and so is the time that it can ask for', async () => {
  const { exporter, clock, open, addMany, turn, dropped } = startExporter()
  addMany(512)
  await turn()
  addMany(4096)
  open.shift()?.(503, '99999999')
  await turn()
  assert.equal(dropped(), 512)
  addMany(1)
  assert.equal(dropped(), 513)
  clock.advance(301)
  void exporter.exportSpans()
  await turn()
  assert.equal(open.length, 1)
  open.shift()?.(503, 'soon')
  await turn()
  void exporter.exportSpans()
  await turn()
  assert.equal(open.length, 1, 'without a time it is asked with the next export')
})

test('headers for the collector are name=value pairs', () => {
  assert.deepEqual(parseOtlpHeaders('Authorization=Bearer%20a%3Db, x-team = one'), [
    ['authorization', 'Bearer a=b'],
    ['x-team', 'one'],
  ])
  for (const wrong of ['', 'a', '=b', 'a=', 'a=b,', 'a=%0d%0ab', 'a=%zz', 'a b=c', 'a=%']) {
    assert.equal(parseOtlpHeaders(wrong), undefined, wrong)
  }
})
