import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownPath } from './own-path.ts'

const base = new URL('https://sallyport.example')

test('a path of this service is returned unchanged', () => {
  for (const path of ['/', '/?connect=waiting', '/a/b?c=d#e', '/a//b', '/%2f%2fevil.example', '/@evil.example']) {
    assert.equal(ownPath(path, base), path)
  }
  assert.equal(ownPath('/a/../b', base), '/b')
})

test('a path that a browser would resolve to another origin is refused', () => {
  const elsewhere = ['//evil.example', '///evil.example', '/\\evil.example', '\\\\evil.example', '/\t/evil.example']
  const tricks = ['/.//evil.example', '/a/..//evil.example', '/\n/evil.example', '/%2e//evil.example', '//[']
  const whole = ['https://sallyport.example/', 'https://evil.example', 'javascript:alert(1)', 'a', '', '?a', '#a', ' /']
  for (const text of [...elsewhere, ...tricks, ...whole]) assert.equal(ownPath(text, base), undefined, text)
})
