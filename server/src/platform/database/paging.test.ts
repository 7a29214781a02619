import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pageOf, pageRequest } from './paging.ts'

test('the default is the first page of fifty', () => {
  assert.deepEqual(pageRequest({}), { limit: 50, before: undefined, status: undefined })
  const asked = pageRequest({ limit: 2, cursor: 'agt_1', status: 'active' })
  assert.deepEqual(asked, { limit: 2, before: 'agt_1', status: 'active' })
})

test('over all pages every record comes once, and the last page is marked', () => {
  const property = fc.property(fc.nat(30), fc.integer({ min: 1, max: 10 }), (count, limit) => {
    const all = Array.from({ length: count }, (_, index) => String(9000 - index))
    const seen: string[] = []
    let before: string | null = null
    do {
      const rest = all.filter((id) => before === null || id < before).slice(0, limit + 1)
      const { records, nextCursor }: ReturnType<typeof pageOf<string>> = pageOf(rest, limit, (id) => id)
      assert.ok(records.length <= limit)
      assert.ok(nextCursor === null || records.length === limit, 'only a full page has a next one')
      seen.push(...records)
      before = nextCursor
    } while (before !== null)
    assert.deepEqual(seen, all)
  })
  fc.assert(property)
})
