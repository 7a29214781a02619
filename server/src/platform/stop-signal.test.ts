import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStop } from './stop-signal.ts'

test('listeners are called once, and the first reason counts', () => {
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

test('a listener removed during an abort does not prevent others from being called', () => {
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

test('a listener that throws does not prevent others from being called, and its error surfaces', async () => {
  const { signal, abort } = createStop()
  const failure = new Error('a mistake')
  const uncaught = new Promise((resolve) => {
    // In place of the test runner, which would take it for a failure of the test.
    const others = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.once('uncaughtException', (error) => {
      for (const listener of others) process.on('uncaughtException', listener)
      resolve(error)
    })
  })
  const told: string[] = []
  signal.addEventListener('abort', () => {
    throw failure
  })
  signal.addEventListener('abort', () => told.push('second'))
  abort(new Error('over'))
  assert.deepEqual(told, ['second'])
  assert.equal(await uncaught, failure)
})
