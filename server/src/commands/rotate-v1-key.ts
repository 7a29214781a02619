import { createStores } from '../stores.ts'
import { createServiceKeyStore } from '../legacy-v1/service-key-store.ts'
import { rotateServiceKey } from '../legacy-v1/service-keys.ts'
import { openVault } from '../platform/vault/vault.ts'
import { withDatabase } from './with-database.ts'

/** Every instance returns the new key from the next call on. */
export function rotateV1Key(env: NodeJS.ProcessEnv): Promise<number> {
  return withDatabase(env, async ({ config, source, database, clock }) => {
    const vault = await openVault({ database, readMasterKeys: source.read, clock })
    const { audit } = createStores({ database, vault, clock })
    const serviceKeys = createServiceKeyStore(vault)
    const { keyId, publicKey, fingerprint } = await rotateServiceKey({ config, database, serviceKeys, audit, clock })
    const lines = [
      `The service's v1 key is now ${keyId}, ${fingerprint}.`,
      `Envelopes for the previous key are accepted for ${config.v1KeyOverlapHours} more hours (SALLYPORT_V1_KEY_OVERLAP_HOURS).`,
      'Send the new fingerprint to clients that pin the key, over another channel than this service.',
    ]
    process.stdout.write(`${lines.join('\n')}\n${publicKey}`)
    return 0
  })
}
