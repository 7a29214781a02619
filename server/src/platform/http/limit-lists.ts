/** Paged lists count against their caller's read budget: the page size is charged before the rows are read. */
import { defaultPageSize, maxPageSize } from '@sallyport/protocol/lists'
import type { FastifyRequest } from 'fastify'
import { addressBlock } from '../limits/client-address.ts'
import type { ReadBudget } from '../limits/read-budget.ts'
import type { Http } from './http.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route charges the rows that it reads by itself. */
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

/** Whose budget a call counts against: the caller's, or the address's without a credential. */
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
