/** Two instances of the service that share a database, its keys and a clock. */
import type { TestContext } from 'node:test'
import type { Engine } from '../src/platform/database/database.ts'
import { mintToken } from '../src/platform/tokens.ts'
import { newMasterKey } from '../src/platform/vault/master-keys.ts'
import { fixedClock } from './clock.ts'
import { migratedPostgres, temporaryFolder } from './databases.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

export async function startInstances(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
): Promise<[here: TestService, there: TestService]> {
  const settings = {
    SALLYPORT_DATA_DIR: temporaryFolder(t),
    SALLYPORT_ADMIN_TOKEN: mintToken('admin').reveal(),
    SALLYPORT_MASTER_KEY: newMasterKey().text.reveal(),
    ...(engine === 'postgres' && { DATABASE_URL: await migratedPostgres(t) }),
  }
  const clock = fixedClock()
  return [await startService(t, engine, settings, clock), await startService(t, engine, settings, clock)]
}
