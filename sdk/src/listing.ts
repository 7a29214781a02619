import { SallyportError } from './errors.ts'
import type { CallOptions, Transport } from './transport.ts'

/**
 * A paginated list. Nothing is fetched until you iterate or call a method.
 *
 * ```ts
 * const { grants, next_cursor } = await user.grants.list({ limit: 20 }).page()
 * for await (const grant of user.grants.list({ status: 'active' })) console.log(grant.grant_id)
 * ```
 */
export interface Listing<Page, Item> extends AsyncIterable<Item> {
  /** Fetches one page: the first, or the one at the query's `cursor`. */
  page: () => Promise<Page>
  /** Fetches all records from there on. */
  all: () => Promise<Item[]>
}

/** `name` is the page member that contains the records. */
export function listing<Page extends { next_cursor: string | null }, Name extends string & keyof Page>(
  transport: Transport,
  path: string,
  name: Name,
  query: object | undefined,
  options: CallOptions | undefined,
): Listing<Page, ItemOf<Page[Name]>> {
  type Item = ItemOf<Page[Name]>
  const at = (cursor?: string) =>
    transport.json<Page>({ method: 'GET', path, query: { ...query, ...(cursor && { cursor }) } }, options)
  async function* each(): AsyncGenerator<Item, void, undefined> {
    let cursor: string | undefined
    for (;;) {
      const { [name]: items, next_cursor: next } = await at(cursor)
      if (!Array.isArray(items)) throw unexpected('The response is not a page of the list.')
      yield* items as Item[]
      if (next === null) return
      if (typeof next !== 'string' || next === '' || next === cursor)
        throw unexpected('The response has an invalid next_cursor.')
      cursor = next
    }
  }
  return {
    page: () => at(),
    all: async () => {
      const items: Item[] = []
      for await (const item of each()) items.push(item)
      return items
    },
    [Symbol.asyncIterator]: each,
  }
}

function unexpected(message: string): SallyportError {
  return new SallyportError('unexpected_answer', message)
}

type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never
