/** The in-memory store of an authorization server. Nothing is evicted by age: the provider checks expiry itself. */
import type { Adapter, AdapterPayload } from 'oidc-provider'

export interface OAuthStore {
  adapter: (model: string) => Adapter
  /** Revokes each grant of this account, with its tokens. */
  endGrants: (accountId: string) => void
}

export function createOAuthStore(): OAuthStore {
  const models = new Map<string, Map<string, AdapterPayload>>()
  const rowsOf = (model: string) => {
    const rows = models.get(model) ?? new Map<string, AdapterPayload>()
    models.set(model, rows)
    return rows
  }

  const adapter = (model: string): Adapter => {
    const rows = rowsOf(model)
    const findBy = async (fits: (row: AdapterPayload) => boolean) => [...rows.values()].find(fits)
    return {
      upsert: async (id, payload) => void rows.set(id, payload),
      find: async (id) => rows.get(id),
      findByUid: (uid) => findBy((row) => row.uid === uid),
      findByUserCode: (userCode) => findBy((row) => row.userCode === userCode),
      consume: async (id) => {
        const row = rows.get(id)
        if (row) row.consumed = Math.floor(Date.now() / 1000)
      },
      destroy: async (id) => void rows.delete(id),
      revokeByGrantId: async (grantId) => {
        for (const [id, row] of rows) if (row.grantId === grantId) rows.delete(id)
      },
    }
  }

  return {
    adapter,
    endGrants: (accountId) => {
      const ended = [...rowsOf('Grant')].filter(([, grant]) => grant.accountId === accountId).map(([id]) => id)
      for (const rows of models.values()) {
        for (const [id, { grantId }] of rows) if (grantId !== undefined && ended.includes(grantId)) rows.delete(id)
      }
      for (const id of ended) rowsOf('Grant').delete(id)
    },
  }
}
