import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slugFrom } from './slug.ts'

test('a slug is made from the name and is valid in a path', () => {
  const slugs: [string, string][] = [
    ['Acme Corp', 'acme-corp'],
    ['  Acme -- Corp!  ', 'acme-corp'],
    ['Crème Brûlée', 'creme-brulee'],
    ['ＡＣＭＥ', 'acme'],
    ['a'.repeat(60), 'a'.repeat(40)],
    [`${'a'.repeat(39)} b`, 'a'.repeat(39)],
    ['../../etc', 'etc'],
    ['7', '7'],
  ]
  for (const [name, slug] of slugs) {
    assert.equal(slugFrom(name), slug)
    assert.match(slug, /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/)
  }
})

test('a name without a Latin letter or a digit gives no slug', () => {
  for (const name of ['日本', '!!!', '-']) assert.equal(slugFrom(name), undefined)
})
