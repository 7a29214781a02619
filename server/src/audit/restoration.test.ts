import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Head, RecordRow } from './audit-hash.ts'
import { explains, readRestoration, restorationDetail } from './restoration.ts'

const backupUntil = new Date('2027-01-01T10:00:00Z')
const at = new Date('2027-01-01T12:00:00Z')
const chain = `chn_${'0'.repeat(26)}`
const head = (position: number, fill = 1, name = chain): Head => ({
  chain: name,
  position,
  hash: Buffer.alloc(32, fill),
})
const signedAt = (time: string, one: Head) => ({
  ...one,
  at: new Date(`2027-01-01T${time}Z`).getTime(),
  signature: new Uint8Array(),
})

function recorded(lost: Head[] | undefined) {
  const detail = JSON.stringify(restorationDetail({ backupUntil, lost, lostRecords: lost && 7 }))
  const row = { audit_id: 'aud_1', event: 'database.restored', at: at.getTime(), detail } as RecordRow
  return readRestoration(row) ?? assert.fail('it is not read')
}

test('a restore explains heads of what the replaced database had beyond the backup', () => {
  const restoration = recorded([head(20)])
  assert.equal(restoration.lostRecords, 7)
  assert.equal(explains(restoration, signedAt('11:00:00', head(15, 9))), true)
  assert.equal(explains(restoration, signedAt('11:00:00', head(20))), true)
})

test('a restore explains nothing else', () => {
  const restoration = recorded([head(20)])
  const refused: [string, ReturnType<typeof signedAt>][] = [
    ['signed after the restore: set back later', signedAt('12:00:01', head(15))],
    ['signed before the backup, which must have it', signedAt('09:59:00', head(15))],
    ['beyond what was replaced: set back before', signedAt('11:00:00', head(21))],
    ['another record at the end: rewritten before', signedAt('11:00:00', head(20, 2))],
    ['of a chain that was not there: set back before', signedAt('11:00:00', head(1, 1, chain.replace('0', '1')))],
  ]
  for (const [why, one] of refused) assert.equal(explains(restoration, one), false, why)
})

test('without the replaced database, all heads between backup and restore are explained', () => {
  const restoration = recorded(undefined)
  assert.equal(explains(restoration, signedAt('11:00:00', head(900))), true)
  assert.equal(explains(restoration, signedAt('12:30:00', head(900))), false)
  assert.equal(explains(restoration, signedAt('09:00:00', head(900))), false)
})

test('other records are not restores', () => {
  assert.equal(readRestoration({ event: 'keys.rotated', detail: '{}' } as RecordRow), undefined)
})
