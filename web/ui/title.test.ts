import assert from 'node:assert/strict'
import { test } from 'node:test'
import { titleOf } from './title.ts'

test('the title begins with the number that waits, if any does', () => {
  assert.equal(titleOf('Home', 0), 'Home · Sallyport')
  assert.equal(titleOf('Home', 1), '(1) Home · Sallyport')
  assert.equal(titleOf('Grants', 99), '(99) Grants · Sallyport')
  assert.equal(titleOf('Grants', 100), '(99+) Grants · Sallyport')
})
