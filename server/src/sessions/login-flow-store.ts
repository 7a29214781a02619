import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import type { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import type { LoginProviderId } from './login-provider.ts'

interface LoginFlowRow {
  flow_id: string
  cookie_hash: Uint8Array
  state_hash: Uint8Array
  provider: LoginProviderId
  redirect_after: string
  verifier: Uint8Array | null
  verifier_key_id: string | null
  nonce: string | null
  created_at: number
  expires_at: number
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    login_flows: LoginFlowRow
  }
}

export const loginVerifier: SealedColumn = {
  table: 'login_flows',
  column: 'verifier',
  rowColumn: 'flow_id',
  // There is no user yet, only a provider.
  ownerColumn: 'provider',
}

/** Proves that a response belongs to this flow: both the browser's cookie and the state are required. */
export interface FlowProof {
  provider: LoginProviderId
  cookieHash: Uint8Array
  stateHash: Uint8Array
}

export interface LoginFlow {
  redirectAfter: string
  verifier: Secret
  nonce: string | undefined
}

export interface NewLoginFlow extends FlowProof, LoginFlow {
  flowId: string
  createdAt: Date
  expiresAt: Date
}

export function createLoginFlowStore(vault: Vault) {
  const place = (row: { flow_id: string; provider: string }) => ({ row: row.flow_id, owner: row.provider })

  return {
    insert: async (tx: Queries, flow: NewLoginFlow): Promise<void> => {
      const ids = { flow_id: flow.flowId, provider: flow.provider }
      const sealed = await vault.seal(tx, loginVerifier, place(ids), flow.verifier)
      await tx
        .insertInto('login_flows')
        .values({
          ...ids,
          cookie_hash: flow.cookieHash,
          state_hash: flow.stateHash,
          redirect_after: flow.redirectAfter,
          verifier: sealed.bytes,
          verifier_key_id: sealed.keyId,
          nonce: flow.nonce ?? null,
          created_at: flow.createdAt.getTime(),
          expires_at: flow.expiresAt.getTime(),
        })
        .execute()
    },

    /** Deletes the flow: of several concurrent attempts, only one gets it. */
    consume: async (tx: Queries, proof: FlowProof, now: Date): Promise<LoginFlow | undefined> => {
      const row = await tx
        .deleteFrom('login_flows')
        .where('cookie_hash', '=', proof.cookieHash)
        .where('state_hash', '=', proof.stateHash)
        .where('provider', '=', proof.provider)
        .where('expires_at', '>', now.getTime())
        .returningAll()
        .executeTakeFirst()
      if (!row?.verifier || row.verifier_key_id === null) return undefined
      const sealed = { bytes: row.verifier, keyId: row.verifier_key_id }
      const verifier = await vault.open(tx, loginVerifier, place(row), sealed)
      return { redirectAfter: row.redirect_after, verifier, nonce: row.nonce ?? undefined }
    },

    dropExpired: (queries: Queries, now: Date): Promise<number> =>
      deleteBatch(queries, 'login_flows', 'flow_id', sql`expires_at < ${now.getTime()}`),
  }
}

export type LoginFlowStore = ReturnType<typeof createLoginFlowStore>
