import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStop } from './stop-signal.ts'

test('those who listen are told once, and the first reason counts', () => {
  const { signal, abort } = createStop()
  const told: unknown[] = []
  const left = () => told.push('left')
  signal.addEventListener('abort', () => told.push(signal.reason))
  signal.addEventListener('abort', left)
  signal.removeEventListener('abort', left)
  assert.equal(signal.aborted, false)
  signal.throwIfAborted()
  const [first, second] = [new Error('first'), new Error('second')]
  abort(first)
  abort(second)
  assert.deepEqual(told, [first])
  assert.equal(signal.aborted, true)
  assert.equal(signal.reason, first)
  assert.throws(() => {
    signal.throwIfAborted()
  }, first)
})

test('who leaves while others are told does not keep them from hearing it', () => {
  const { signal, abort } = createStop()
  const told: string[] = []
  const first = () => {
    told.push('first')
    signal.removeEventListener('abort', first)
  }
  signal.addEventListener('abort', first)
  signal.addEventListener('abort', () => told.push('second'))
  abort(new Error('over'))
  assert.deepEqual(told, ['first', 'second'])
})
