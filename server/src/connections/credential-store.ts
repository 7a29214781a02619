import type { Queries } from '../platform/database/database.ts'
import type { Vault } from '../platform/vault/vault.ts'
import type { CredentialValues } from '../providers/injector.ts'
import { credentialColumn, noTokens, sealTokens, toConnection } from './connection-store.ts'
import { credentialText, valuesIn } from './credential.ts'
import type { Connection, KeptTokens } from './connection.ts'

/** What people have entered to connect an account, sealed as a whole. */
export function createCredentialStore(vault: Vault) {
  const valuesOf = async (queries: Queries, { connectionId, userId }: Connection) => {
    const row = await queries
      .selectFrom('connections')
      .select(['version', 'credential', 'credential_key_id'])
      .where('connection_id', '=', connectionId)
      .executeTakeFirst()
    if (!row?.credential || row.credential_key_id === null) return undefined
    const sealed = { bytes: row.credential, keyId: row.credential_key_id }
    const text = await vault.open(queries, credentialColumn, { row: connectionId, owner: userId }, sealed)
    return { values: valuesIn(text), version: row.version }
  }

  return {
    /** The values and their version, which may be later than that of the connection passed in. */
    valuesOf,

    /** Ends `needs_reauth`. Undefined if the connection was changed or revoked since it was read. */
    replace: async (
      tx: Queries,
      { connectionId, userId, version }: Connection,
      values: CredentialValues,
      {
        accountId,
        accountLabel,
        apiHost,
        scopes,
      }: Pick<Connection, 'accountId' | 'accountLabel' | 'apiHost' | 'scopes'>,
      now: Date,
      /** Issued for it. */
      tokens?: KeptTokens,
    ): Promise<Connection | undefined> => {
      const place = { row: connectionId, owner: userId }
      const { bytes, keyId } = await vault.seal(tx, credentialColumn, place, credentialText(values))
      const issued = tokens && (await sealTokens(vault, tx, { connectionId, userId }, tokens))
      const row = await tx
        .updateTable('connections')
        .set({
          ...noTokens,
          ...issued,
          ...{ credential: bytes, credential_key_id: keyId },
          ...{ account_id: accountId, account_label: accountLabel, api_host: apiHost },
          scopes: JSON.stringify(scopes),
          ...{
            status: 'active',
            expires_at: tokens?.expiresAt?.getTime() ?? null,
            obtained_at: now.getTime(),
            is_refreshed: 0,
          },
          ...{ version: version + 1, refresh_lease: null, refresh_lease_until: null },
        })
        .where('connection_id', '=', connectionId)
        .where('version', '=', version)
        .where('status', '<>', 'revoked')
        .returningAll()
        .executeTakeFirst()
      return row && toConnection(row)
    },
  }
}

export type CredentialStore = ReturnType<typeof createCredentialStore>
