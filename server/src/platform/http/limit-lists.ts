/** Every paged list counts against its caller's read budget: the rows of the page, before they are read. */
import { defaultPageSize, maxPageSize } from '@sallyport/protocol/lists'
import type { FastifyRequest } from 'fastify'
import { addressBlock } from '../limits/client-address.ts'
import type { ReadBudget } from '../limits/read-budget.ts'
import type { Http } from './http.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A list that says by itself how many rows it has read: the record. */
    countsItsRows?: boolean
  }
}

export function limitLists(http: Http, reads: ReadBudget): void {
  http.addHook('preHandler', async (request) => {
    const { schema, config } = request.routeOptions
    if (!isPaged(schema?.querystring) || config.countsItsRows) return
    const caller = readerKey(request)
    reads.assertLeft(caller)
    reads.spend(caller, rowsOf(request.query))
  })
}

/** Whose budget a call counts against: the caller's, or without a credential the address's. */
export function readerKey({ callerKey, ip }: Pick<FastifyRequest, 'callerKey' | 'ip'>): string {
  return callerKey ?? `address ${addressBlock(ip).narrow}`
}

export function isPaged(querystring: unknown): boolean {
  return 'cursor' in ((querystring as { properties?: object } | undefined)?.properties ?? {})
}

function rowsOf(query: unknown): number {
  const { limit = defaultPageSize } = query as { limit?: number }
  return Math.min(limit, maxPageSize)
}
