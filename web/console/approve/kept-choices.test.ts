import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restored } from './kept-choices.ts'
import { firstChoices } from './terms.ts'
import type { Asked, Choices } from './terms.ts'

const asked: Asked = {
  hosts: ['api.acme.example', 'files.acme.example'],
  api_hosts: [],
  methods: ['GET', 'POST'],
  paths: null,
  max_calls: null,
}
const first = firstChoices(asked, null)
const again = (kept: unknown) => restored(JSON.stringify(kept), asked, first)

test('the choices are those from before the reload', () => {
  const chosen: Choices = {
    account: 'con_1',
    mode: 'ask_all',
    exceptions: [{ id: 1, action: 'deny', paths: '/admin', methods: 'post' }],
    hosts: ['files.acme.example'],
    hostsBelow: '',
    permissions: 'some',
    someMethods: ['POST'],
    paths: 'some',
    somePaths: '/v1\n/v2',
    lasting: 'date',
    date: '2027-01-01T00:00',
    calls: '7',
  }
  assert.deepEqual(again(chosen), chosen)
})

test('what is not offered, or not ours, is not taken', () => {
  assert.deepEqual(again({ hosts: ['evil.example', 'api.acme.example'] }).hosts, ['api.acme.example'])
  assert.deepEqual(again({ someMethods: ['DELETE', 'GET'] }).someMethods, ['GET'])
  for (const text of [null, '', '{', '[]', '7', '"x"', 'null']) assert.deepEqual(restored(text, asked, first), first)
  assert.deepEqual(again({ mode: 'everything', lasting: 'toString', calls: 7, paths: {}, date: 'x'.repeat(99) }), first)
})

test('a rule that can’t be read is not left out alone', () => {
  const rule = { id: 1, action: 'deny', paths: '/a', methods: '' }
  for (const other of [null, 7, { ...rule, action: 'permit' }, { action: 'deny' }]) {
    assert.deepEqual(again({ exceptions: [rule, other] }).exceptions, [])
  }
})
