import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { createLog } from './log.ts'
import type { Log } from './log.ts'
import { redacted, Secret } from './secret.ts'
import { mintToken } from './tokens.ts'

type Format = 'json' | 'text' | 'auto'

function logged(write: (log: Log) => void, logFormat: Format = 'json', isTTY = false): string {
  let output = ''
  write(createLog({ logLevel: 'info', logFormat }, { isTTY, write: (text) => (output += text) }))
  return output
}

test('an event is one line of JSON with its time, its level and its members', () => {
  const line = logged((log) => {
    log.warn({ requestId: 'req_1', status: 503 }, 'not well')
  })
  const { time, ...rest } = JSON.parse(line) as Record<string, unknown>
  assert.deepEqual(rest, { level: 40, requestId: 'req_1', status: 503, msg: 'not well' })
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.ok(line.endsWith('}\n') && line.indexOf('\n') === line.length - 1)
})

test('a token of ours is taken out wherever it got in', () => {
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

test('an error that is logged by itself is scrubbed alike', () => {
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

test('an error that is its own cause is logged, not followed for ever', () => {
  const error = new Error('turning')
  error.cause = new Error('round', { cause: error })
  const line = logged((log) => {
    log.error({ err: error }, 'failed')
  })
  assert.match(line, /turning.*round/)
})

test('in text, a line says time, level, message and members, and the stacks follow', () => {
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

test('what lies below the level is not logged', () => {
  const lines: string[] = []
  const log = createLog({ logLevel: 'warn', logFormat: 'json' }, { write: (line) => lines.push(line) })
  log.info('below')
  log.warn('above')
  assert.equal(lines.length, 1, inspect(lines))
  createLog({ logLevel: 'silent', logFormat: 'json' }, { write: (line) => lines.push(line) }).fatal('nothing')
  assert.equal(lines.length, 1)
})
