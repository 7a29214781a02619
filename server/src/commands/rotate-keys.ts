import { createAuditStore } from '../audit/audit-store.ts'
import { systemClock } from '../platform/clock.ts'
import { readConfig } from '../platform/config.ts'
import { masterKeySource, openDatabase } from '../platform/instance.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { rotateKeys } from '../platform/vault/rotate.ts'
import { openVault } from '../platform/vault/vault.ts'
import { sealedColumns } from '../sealed-columns.ts'

export async function rotateMasterKey(env: NodeJS.ProcessEnv): Promise<number> {
  process.umask(0o077)
  const config = readConfig(env)
  const source = masterKeySource(config)
  // Before the database: opening it would make an empty one, beside which a missing key is taken for lost.
  source.read()
  const database = openDatabase(config)
  const clock = systemClock
  const onProgress = (line: string) => process.stdout.write(`${line}\n`)
  try {
    const vault = await openVault({ database, readMasterKeys: source.read, clock })
    const { resealed } = await rotateKeys({ database, vault, source, sealedColumns, newMasterKey, clock, onProgress })
    const audit = createAuditStore({ database, vault, clock })
    await audit.append(database.queries, { event: 'keys.rotated', at: clock(), detail: { resealed } })
    onProgress('Done. Nothing is sealed under the old master key any more.')
    if (!source.write) onProgress('Take the old key out of SALLYPORT_MASTER_KEY now.')
    return 0
  } finally {
    await database.close()
  }
}
