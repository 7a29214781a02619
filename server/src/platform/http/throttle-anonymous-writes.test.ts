import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { throttleAnonymousWrites } from './throttle-anonymous-writes.ts'

function requests() {
  const begun: string[] = []
  const listener = throttleAnonymousWrites(({ url = '' }) => {
    begun.push(url)
  })
  const send = (url: string, method: string, headers: Record<string, string> = {}) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { url, method, headers })
    listener(request, new ServerResponse(request))
    return request
  }
  return { begun, send }
}

test('a few anonymous writes start per tick, in order', async () => {
  const { begun, send } = requests()
  const crowd = Array.from({ length: 101 }, (_, index) => `/register/${index}`)
  for (const url of crowd) send(url, 'POST')
  let turns = 0
  for (let before = 0; begun.length < crowd.length; turns++) {
    assert.ok(begun.length - before <= 2, `${begun.length - before} began in one turn`)
    before = begun.length
    await nextTurn()
  }
  assert.ok(turns >= 50)
  assert.deepEqual(begun, crowd)
})

test('reads and requests with a credential are not delayed', () => {
  const { begun, send } = requests()
  for (let index = 0; index < 100; index++) send('/register', 'POST')
  send('/proxy', 'POST', { authorization: 'Bearer a' })
  send('/grants', 'DELETE', { cookie: 'svc_session=a' })
  send('/healthz', 'GET')
  assert.deepEqual(begun.slice(2), ['/proxy', '/grants', '/healthz'])
})

test('a request whose client has disconnected is not started', async () => {
  const { begun, send } = requests()
  for (let index = 0; index < 4; index++) send(`/${index}`, 'POST')
  send('/gone', 'POST').socket.destroy()
  send('/last', 'POST')
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  assert.deepEqual(begun, ['/0', '/1', '/2', '/3', '/last'])
})
