import { sql } from 'kysely'
import type { Queries } from '../platform/database/database.ts'

/** Which presets have been a provider. */
export const usedPresetStore = {
  /** Those of these ids that a provider was created from or had as its slug. Disabled and deleted ones count. */
  find: async (queries: Queries, ids: readonly string[], exceptProviderId = ''): Promise<ReadonlySet<string>> => {
    const named = (column: 'slug' | 'former_slug' | 'preset') =>
      queries
        .selectFrom('providers')
        .select(sql<string>`${sql.ref(column)}`.as('id'))
        .where(column, 'in', [...ids])
        .where('provider_id', '<>', exceptProviderId)
    const found = await named('slug').union(named('former_slug')).union(named('preset')).execute()
    return new Set(found.map(({ id }) => id))
  },
}

export type UsedPresetStore = typeof usedPresetStore
