import assert from 'node:assert/strict'
import { statfsSync } from 'node:fs'
import { test } from 'node:test'
import { temporaryFolder } from '../../testkit/databases.ts'
import { systemClock } from '../platform/clock.ts'
import { readConfig } from '../config/config.ts'
import { findingsOf } from '../config/findings.ts'
import { clockFinding } from './doctor.ts'

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
