import { Type, type Static, type TSchema } from 'typebox'
import { Nullable, Strict, Text } from './schema.ts'

export const defaultPageSize = 50
export const maxPageSize = 200

/** The id of the last record seen. Any other text would return a wrong or empty page, so it is refused. */
function cursorOf(idPrefix: string) {
  return Type.String({
    pattern: '^[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$',
    description: 'next_cursor of the previous page',
    examples: [`${idPrefix}_01k9x3v7qmf5v8t2w4y6z8abcd`],
  })
}

export function pagingMembers(idPrefix: string) {
  return {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: maxPageSize, default: defaultPageSize })),
    cursor: Type.Optional(cursorOf(idPrefix)),
  }
}

/** The query of a list that can be filtered by these statuses. */
export function ListQuery<S extends string[]>(idPrefix: string, statuses: readonly [...S]) {
  return Strict({ ...pagingMembers(idPrefix), status: Type.Optional(Type.Enum(statuses)) })
}

/** The query of such a list that can also be searched. */
export function SearchQuery<S extends string[]>(idPrefix: string, statuses: readonly [...S], searched: string) {
  const query = Text({ maxLength: 100, description: `Words that are part of ${searched}` })
  return Strict({ ...ListQuery(idPrefix, statuses).properties, query: Type.Optional(query) })
}

export function PageQuery(idPrefix: string) {
  return Strict(pagingMembers(idPrefix))
}
export type PageQuery = Static<ReturnType<typeof PageQuery>>

/** One page of a list. `name` is the plural noun of its records. */
export function Page<const K extends string, T extends TSchema>(name: K, record: T) {
  const records = { [name]: Type.Array(record) } as Record<K, ReturnType<typeof Type.Array<T>>>
  return Type.Object({ ...records, next_cursor: Nullable(Type.String({ description: 'null on the last page' })) })
}
