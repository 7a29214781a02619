import assert from 'node:assert/strict'
import { statfsSync } from 'node:fs'
import { test } from 'node:test'
import { temporaryFolder } from '../../testkit/databases.ts'
import { systemClock } from '../platform/clock.ts'
import { readConfig } from '../config/config.ts'
import { findingsOf } from '../config/findings.ts'
import { authorityFinding, clockFinding } from './doctor.ts'

test("a clock more than five seconds off the database's is an error, in either direction", () => {
  const cases: [number, string, string][] = [
    [0, 'well', "0 ms ahead of the database's"],
    [4999.6, 'well', "5000 ms ahead of the database's"],
    [-12.3, 'well', "12 ms behind the database's"],
    [15_000, 'wrong', "15 s ahead of the database's. Synchronize both machines with NTP."],
    [-3_600_000, 'wrong', "3600 s behind the database's. Synchronize both machines with NTP."],
  ]
  for (const [offsetMs, level, words] of cases)
    assert.deepEqual(clockFinding(offsetMs), { what: 'clock', level, words })
})

test('low disk space is a warning, and less than the floor an error', (t) => {
  const folder = temporaryFolder(t)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const levelAt = (floor: number) => {
    const settings = {
      SALLYPORT_DATA_DIR: folder,
      SALLYPORT_DISK_FLOOR_BYTES: String(Math.min(floor, 999_999_999_999)),
    }
    return findingsOf(readConfig(settings), [], systemClock).find(({ what }) => what === 'disk')?.level
  }
  // Others use the same disk meanwhile.
  assert.deepEqual([0, Math.floor(free / 2), free * 2].map(levelAt), ['well', 'warning', 'wrong'])
})

test("how long the gateway's authority lasts", () => {
  const now = new Date('2027-01-01T00:00:00Z')
  const after = (days: number) => ({ generation: days, notAfter: new Date(now.getTime() + days * 86_400_000) })
  const finding = (settings: Record<string, string>, ...days: number[]) =>
    authorityFinding(readConfig(settings), days.map(after), now)
  const words = (...given: Parameters<typeof finding>) => finding(...given).words
  assert.equal(words({}), '127.0.0.1:8788; the next start creates its authority')
  assert.equal(words({}, -1), '127.0.0.1:8788; the next start creates its authority')
  assert.equal(words({ SALLYPORT_GATEWAY_PORT: '9000' }, 60), '127.0.0.1:9000, authority valid to 2027-03-02')
  const both = '127.0.0.1:8788, authority valid to 2027-01-21; its successor is in ca.pem already'
  assert.equal(words({}, 20, 90), both)
  assert.equal(words({ SALLYPORT_GATEWAY_PORT: 'off' }, 20), 'off')
  assert.match(words({}, 30), /^127\.0\.0\.1:8788, authority valid to 2027-01-31, without a successor\. /)
  const levels = [[31], [30], [3], [3, 30], [3, 31], [-1], []].map((days) => finding({}, ...days).level)
  assert.deepEqual(levels, ['well', 'warning', 'warning', 'warning', 'well', 'well', 'well'])
})
