import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { createLog, createStackSampling } from './log.ts'
import type { Log } from './log.ts'
import { redacted, Secret } from '../secret.ts'
import { mintToken } from '../tokens.ts'

type Format = 'json' | 'text' | 'auto'

function logged(write: (log: Log) => void, logFormat: Format = 'json', isTTY = false): string {
  let output = ''
  write(createLog({ logLevel: 'info', logFormat }, { isTTY, write: (text) => (output += text) }, '1.2.3'))
  return output
}

test('an event is one line of JSON with its time, level, instance, version and members', () => {
  const line = logged((log) => {
    log.warn({ requestId: 'req_1', status: 503 }, 'not well')
  })
  const { time, ...rest } = JSON.parse(line) as Record<string, unknown>
  const instance = `${hostname()}:${process.pid}`
  assert.deepEqual(rest, {
    level: 'warn',
    instance,
    version: '1.2.3',
    requestId: 'req_1',
    status: 503,
    msg: 'not well',
  })
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.ok(line.endsWith('}\n') && line.indexOf('\n') === line.length - 1)
})

test('our tokens are redacted wherever they appear', () => {
  for (const format of ['json', 'text'] as const) {
    for (const kind of ['admin', 'agent', 'login', 'sandbox', 'session'] as const) {
      const token = mintToken(kind).reveal()
      const error = new Error(`bad token ${token}`, { cause: new TypeError(`"${token}"`) })
      const line = logged((log) => {
        log.error({ err: error, url: `/?token=${token}`, [token]: token, nested: { token } }, `from ${token}, ${token}`)
      }, format)
      assert.ok(!line.includes(token) && !line.includes(token.slice(-49)), line)
      assert.ok(line.includes(`from ${redacted}, ${redacted}`), line)
    }
  }
})

test('an error that is logged by itself is redacted too', () => {
  const token = mintToken('session').reveal()
  const line = logged((log) => {
    log.error(new Error(`no ${token}`))
  })
  assert.ok(!line.includes(token) && line.includes(`no ${redacted}`), line)
})

test('a secret is printed as redacted', () => {
  const line = logged((log) => {
    log.info({ secret: new Secret('hush'), deep: { list: [new Secret('hush')] } }, 'a secret')
  })
  assert.ok(!line.includes('hush') && line.includes(`"secret":"${redacted}"`), line)
})

test("PostgreSQL's errors are logged without the rows and statements that they carry", () => {
  const members = {
    code: '23505',
    detail: 'Key (email)=(ada@example.com) hush',
    where: 'COPY users hush',
    internalQuery: 'select hush',
    hint: 'hush',
    query: 'insert hush',
    parameters: ['hush'],
    table: 'users',
  }
  const database = Object.assign(new Error('duplicate key value violates unique constraint'), members)
  for (const format of ['json', 'text'] as const) {
    for (const err of [database, new Error('it failed', { cause: database }), { hush: 'thrown' }, 'hush']) {
      const line = logged((log) => {
        log.error({ err }, 'failed')
      }, format)
      assert.ok(!line.includes('hush'), line)
    }
  }
})

test('an error keeps its name, code, message, stack and cause', () => {
  const cause = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' })
  const line = logged((log) => {
    log.error({ err: new TypeError('no database', { cause }) }, 'failed')
  })
  const { err } = JSON.parse(line) as { err: any }
  assert.deepEqual([err.name, err.message, err.cause.code], ['TypeError', 'no database', 'ECONNREFUSED'])
  assert.match(err.stack, /^TypeError: no database\n +at /)
  assert.match(err.cause.stack, /^Error: connect failed\n +at /)
})

test('an error that is its own cause is logged without a loop', () => {
  const error = new Error('turning')
  error.cause = new Error('round', { cause: error })
  const line = logged((log) => {
    log.error({ err: error }, 'failed')
  })
  assert.match(line, /turning.*round/)
})

test('levels are words', () => {
  const lines: string[] = []
  const log = createLog({ logLevel: 'debug', logFormat: 'json' }, { write: (line) => lines.push(line) })
  for (const level of ['debug', 'info', 'warn', 'error', 'fatal'] as const) {
    log[level]('hello')
    assert.ok(lines.at(-1)?.includes(`"level":"${level}"`), lines.at(-1))
  }
})

test('the stacks of a repeated error are logged once, then counted', () => {
  const lines: any[] = []
  const write = (line: string) => lines.push(JSON.parse(line))
  const log = createLog({ logLevel: 'info', logFormat: 'json' }, { write })
  const fail = (message: string) => {
    log.error({ err: new Error(message, { cause: new TypeError('inside') }) }, 'failed')
  }
  for (let i = 0; i < 3; i++) fail('outside')
  fail('another')
  const seen = lines.map(({ err }) => [
    err.message,
    err.cause.message,
    'stack' in err,
    'stack' in err.cause,
    err.repeated,
  ])
  assert.deepEqual(seen, [
    ['outside', 'inside', true, true, undefined],
    ['outside', 'inside', false, false, 1],
    ['outside', 'inside', false, false, 2],
    ['another', 'inside', true, true, undefined],
  ])
})

test('after a minute the stacks of a repeated error are logged again, with the count', () => {
  let now = 0
  const sampled = createStackSampling(() => now)
  const error = { name: 'Error', message: 'again', stack: 'Error: again\n at x' }
  assert.deepEqual(sampled(error), error)
  now = 59_999
  assert.deepEqual(sampled(error), { ...error, stack: undefined, repeated: 1 })
  now = 60_000
  assert.deepEqual(sampled(error), { ...error, repeated: 2 })
  now = 120_000
  assert.deepEqual(sampled(error), error)
})

test('errors whose messages all differ take bounded memory', () => {
  const sampled = createStackSampling(() => 0)
  const error = (n: number) => ({ name: 'Error', message: `no ${n}`, stack: 'stack' })
  sampled(error(0))
  for (let n = 1; n < 10_000; n++) sampled(error(n))
  assert.equal(sampled(error(0)).stack, 'stack', 'the first is forgotten')
  assert.equal(sampled(error(9_999)).stack, undefined)
})

test('a repeated error keeps its message in text format', () => {
  const text = logged((log) => {
    for (let i = 0; i < 2; i++) log.error({ err: new TypeError('outside', { cause: new Error('inside') }) }, 'failed')
  }, 'text')
  assert.match(text, /failed\nTypeError: outside\n\(repeated 1 times\)\ncaused by Error: inside\n$/)
  assert.doesNotMatch(text, /instance|version/)
})

test('a text line has time, level, message and members, followed by the stacks', () => {
  const error = new TypeError('outside', { cause: new RangeError('inside') })
  const text = logged((log) => {
    log.info({ port: 8787 }, 'listening')
    log.error({ err: error, requestId: 'req_1' }, 'failed')
  }, 'text')
  const [first = '', second = '', third = ''] = text.split('\n')
  assert.match(first, /^\d\d:\d\d:\d\d\.\d{3} {2}listening {2}port=8787$/)
  assert.match(second, /^\d\d:\d\d:\d\d\.\d{3} {2}error failed {2}requestId=req_1$/)
  assert.equal(third, 'TypeError: outside')
  assert.match(text, /\n.*RangeError: inside\n +at /)
})

test('auto is text on a terminal and JSON elsewhere', () => {
  const write = (log: Log) => {
    log.info('hello')
  }
  assert.ok(logged(write, 'auto', false).startsWith('{'))
  assert.ok(!logged(write, 'auto', true).startsWith('{'))
  assert.ok(logged(write, 'json', true).startsWith('{'))
})

test('messages below the level are not logged', () => {
  const lines: string[] = []
  const log = createLog({ logLevel: 'warn', logFormat: 'json' }, { write: (line) => lines.push(line) })
  log.info('below')
  log.warn('above')
  assert.equal(lines.length, 1, inspect(lines))
  createLog({ logLevel: 'silent', logFormat: 'json' }, { write: (line) => lines.push(line) }).fatal('nothing')
  assert.equal(lines.length, 1)
})
