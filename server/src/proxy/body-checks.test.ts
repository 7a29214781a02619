import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertInspectable, maxInspectedBytes } from './body-checks.ts'

test('a body that must be inspected may have 1 MiB', () => {
  assert.doesNotThrow(() => {
    assertInspectable(maxInspectedBytes)
  })
  assert.throws(
    () => {
      assertInspectable(maxInspectedBytes + 1)
    },
    { code: 'body_not_inspectable', field: 'body' },
  )
})
