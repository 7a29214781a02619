import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdsWords, wordsIn } from './call-search.ts'

const call = JSON.stringify({ method: 'POST', host: 'api.example.com', path: '/Items/caf%C3%A9', query: ['secret'] })

function finds(text: string, detail = call): boolean {
  return holdsWords(detail, wordsIn(text) ?? [])
}

test('words match in method, host and path, in any case and order', () => {
  for (const text of [
    'post',
    'API.example',
    'example.com/items',
    'items post',
    'café',
    '/items/caf%c3%a9',
    ' post  ',
  ]) {
    assert.ok(finds(text), text)
  }
  for (const text of ['get', 'post delete', 'secret', 'method', 'host', '"', 'com /x', '%items', '_', '{']) {
    assert.equal(finds(text), false, text)
  }
})

test('records that are not calls, or not JSON, match no words', () => {
  for (const detail of ['', '{', 'null', '[]', '"post"', '{"method":1,"host":["post"],"path":{"a":"post"}}']) {
    assert.equal(finds('post', detail), false, detail)
  }
})

test('blanks are not words', () => {
  assert.equal(wordsIn('  \t'), undefined)
  assert.equal(wordsIn(undefined), undefined)
})

test('an unpaired surrogate does not throw', () => {
  assert.equal(holdsWords(call, ['\ud800']), false)
})
