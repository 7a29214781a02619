import { createStores } from '../stores.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { rotateKeys } from '../platform/vault/rotate.ts'
import { openVault } from '../platform/vault/vault.ts'
import { sealedColumns } from '../sealed-columns.ts'
import { withDatabase } from './with-database.ts'

export function rotateMasterKey(env: NodeJS.ProcessEnv): Promise<number> {
  const onProgress = (line: string) => process.stdout.write(`${line}\n`)
  return withDatabase(env, async ({ source, database, clock }) => {
    const vault = await openVault({ database, readMasterKeys: source.read, clock })
    const { resealed } = await rotateKeys({ database, vault, source, sealedColumns, newMasterKey, clock, onProgress })
    const { audit } = createStores({ database, vault, clock })
    await audit.append(database.queries, { event: 'keys.rotated', at: clock(), detail: { resealed } })
    onProgress('Done. Nothing is encrypted with the old master key anymore.')
    if (!source.write) onProgress('Remove the old key from SALLYPORT_MASTER_KEY now.')
    return 0
  })
}
