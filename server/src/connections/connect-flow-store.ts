import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import type { Secret } from '../platform/secret.ts'
import { hashToken } from '../platform/tokens.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import type {} from './connection-store.ts'
import type { ConnectFlow } from './connect-flow.ts'

interface ConnectFlowRow {
  flow_id: string
  state_hash: Uint8Array
  user_id: string
  provider_id: string
  connection_id: string | null
  scopes: string
  redirect_after: string
  verifier: Uint8Array
  verifier_key_id: string
  nonce: string | null
  created_at: number
  expires_at: number
  used_at: number | null
  waiting_hash: Uint8Array | null
  answer: Uint8Array | null
  answer_key_id: string | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    connect_flows: ConnectFlowRow
  }
}

const place = { rowColumn: 'flow_id', ownerColumn: 'user_id' }
export const flowVerifier: SealedColumn = { table: 'connect_flows', column: 'verifier', ...place }
export const flowAnswer: SealedColumn = { table: 'connect_flows', column: 'answer', ...place }

export function createConnectFlowStore(vault: Vault) {
  const toFlow = async (queries: Queries, row: ConnectFlowRow): Promise<ConnectFlow> => {
    const where = { row: row.flow_id, owner: row.user_id }
    const sealed = { bytes: row.verifier, keyId: row.verifier_key_id }
    return {
      flowId: row.flow_id,
      userId: row.user_id,
      providerId: row.provider_id,
      connectionId: row.connection_id,
      scopes: JSON.parse(row.scopes) as string[],
      redirectAfter: row.redirect_after,
      verifier: await vault.open(queries, flowVerifier, where, sealed),
      nonce: row.nonce,
      createdAt: new Date(row.created_at),
      expiresAt: new Date(row.expires_at),
    }
  }

  return {
    insert: async (tx: Queries, flow: ConnectFlow, state: Secret): Promise<void> => {
      const where = { row: flow.flowId, owner: flow.userId }
      const verifier = await vault.seal(tx, flowVerifier, where, flow.verifier)
      await tx
        .insertInto('connect_flows')
        .values({
          flow_id: flow.flowId,
          state_hash: hashToken(state),
          user_id: flow.userId,
          provider_id: flow.providerId,
          connection_id: flow.connectionId,
          scopes: JSON.stringify(flow.scopes),
          redirect_after: flow.redirectAfter,
          verifier: verifier.bytes,
          verifier_key_id: verifier.keyId,
          nonce: flow.nonce,
          created_at: flow.createdAt.getTime(),
          expires_at: flow.expiresAt.getTime(),
          used_at: null,
          waiting_hash: null,
          answer: null,
          answer_key_id: null,
        })
        .execute()
    },

    /** One conditional write: of several responses with the same state, only one is accepted. */
    consumeState: async (tx: Queries, state: Secret, now: Date): Promise<ConnectFlow | undefined> => {
      const row = await tx
        .updateTable('connect_flows')
        .set({ used_at: now.getTime() })
        .where('state_hash', '=', hashToken(state))
        .where('used_at', 'is', null)
        .where('expires_at', '>', now.getTime())
        .returningAll()
        .executeTakeFirst()
      return row && toFlow(tx, row)
    },

    /** Stores the response until the holder of this token has signed in. */
    keepAnswer: async (tx: Queries, flow: ConnectFlow, waiting: Secret, answer: Secret): Promise<void> => {
      const sealed = await vault.seal(tx, flowAnswer, { row: flow.flowId, owner: flow.userId }, answer)
      await tx
        .updateTable('connect_flows')
        .set({ waiting_hash: hashToken(waiting), answer: sealed.bytes, answer_key_id: sealed.keyId })
        .where('flow_id', '=', flow.flowId)
        .execute()
    },

    /** Reads and deletes the stored response, even if it turns out to be another user's. */
    takeAnswer: async (
      tx: Queries,
      waiting: Secret,
      now: Date,
    ): Promise<{ flow: ConnectFlow; answer: Secret } | undefined> => {
      const row = await tx
        .selectFrom('connect_flows')
        .selectAll()
        .where('waiting_hash', '=', hashToken(waiting))
        .where('expires_at', '>', now.getTime())
        .executeTakeFirst()
      if (!row || row.answer === null || row.answer_key_id === null) return undefined
      const taken = await tx
        .updateTable('connect_flows')
        .set({ waiting_hash: null, answer: null, answer_key_id: null })
        .where('flow_id', '=', row.flow_id)
        .where('waiting_hash', '=', hashToken(waiting))
        .returning('flow_id')
        .executeTakeFirst()
      if (!taken) return undefined
      const where = { row: row.flow_id, owner: row.user_id }
      const answer = await vault.open(tx, flowAnswer, where, { bytes: row.answer, keyId: row.answer_key_id })
      return { flow: await toFlow(tx, row), answer }
    },

    dropExpired: (tx: Queries, now: Date): Promise<number> =>
      deleteBatch(tx, 'connect_flows', 'flow_id', sql`expires_at < ${now.getTime()}`),
  }
}

export type ConnectFlowStore = ReturnType<typeof createConnectFlowStore>
