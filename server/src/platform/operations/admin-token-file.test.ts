import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { readConfig } from '../../config/config.ts'
import { readAdminToken } from './instance.ts'
import { ConfigError } from '../config/settings.ts'

test('a truncated admin token file lets nobody in', (t) => {
  const config = readConfig({ SALLYPORT_DATA_DIR: temporaryFolder(t) })
  for (const content of ['s', 'sp_admin_abc\n', 'two words that are long enough by themselves']) {
    writeFileSync(join(config.dataDir, 'admin-token'), content)
    assert.throws(
      () => readAdminToken(config),
      (error: unknown) =>
        error instanceof ConfigError && /admin-token.*32 or more/.test(error.message) && !/abc/.test(error.message),
    )
  }
})
