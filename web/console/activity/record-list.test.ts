import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditPage, AuditRecord } from '@sallyport/sdk'
import { listOf, reaches, withNewest, withOlder } from './record-list.ts'
import type { RecordList } from './record-list.ts'

/** Each letter is a record. */
function page(letters: string, cursor: string | null = letters.at(-1) ?? null, outcome = ''): AuditPage {
  const records = letters.split('').map((id) => ({ audit_id: id, outcome }) as unknown as AuditRecord)
  return { records, next_cursor: cursor }
}

const lettersOf = ({ records }: RecordList) => records.map(({ audit_id: id }) => id).join('')

test('a list grows at its end, and at its top', () => {
  const list = withOlder(listOf(page('hgf')), page('ed', null))
  assert.deepEqual([lettersOf(list), list.cursor], ['hgfed', null])
  const grown = withNewest(listOf(page('hgf')), [page('kji'), page('hgf')])
  assert.deepEqual([lettersOf(grown), grown.cursor], ['kjihgf', 'f'])
  assert.equal(lettersOf(withNewest(list, [page('', null)])), 'hgfed')
})

test('a newer form replaces the older one', () => {
  const list = withNewest(listOf(page('cba', null, 'unknown')), [page('dc', 'c', 'answered')])
  assert.deepEqual(
    list.records.map(({ audit_id: id, outcome }) => `${id} ${outcome}`),
    ['d answered', 'c answered', 'b unknown', 'a unknown'],
  )
})

test('new pages have to reach down to the list, or records in between would be missing', () => {
  const list = listOf(page('hgf'))
  assert.equal(reaches(list, [page('kj', 'j')]), false)
  assert.equal(reaches(list, [page('kj', 'j'), page('ih', 'h')]), true)
  assert.equal(reaches(list, [page('kj', null)]), true)
  assert.equal(reaches(listOf(page('', null)), [page('kj', 'j')]), false)
  assert.equal(reaches(listOf(page('', 'h')), [page('', 'h')]), true, 'a page may be empty before the end')
})
