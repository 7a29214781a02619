import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EgressRequest } from '../egress/egress.ts'
import type { WholeAnswer } from '../egress/answers.ts'
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
  const open: ((status: number | ServiceError) => void)[] = []
  const sizes: number[] = []
  const lines: string[] = []
  let dropped = 0
  const exporter = createExporter({
    endpoint: new URL('https://collector.example/base/'),
    headers: [],
    collect: ({ url }: EgressRequest) => {
      assert.match(url.href, /^https:\/\/collector\.example\/base\/v1\/(?:traces|metrics)$/)
      return new Promise<WholeAnswer>((resolve, reject) => {
        open.push((status) => {
          if (status instanceof ServiceError) reject(status)
          else resolve({ status } as WholeAnswer)
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
  return { exporter, open, sizes, lines, addMany, turn, dropped: () => dropped }
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
  open.shift()?.(503)
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
    ['http_503', 'fine'],
  )
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
