import { GrantUseReply } from '@sallyport/protocol/grants'
import { IdInPath } from '@sallyport/protocol/schema'
import { actingUser } from '../authenticate.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { readerKey } from '../platform/http/limit-lists.ts'
import type { ReadBudget } from '../platform/limits/read-budget.ts'
import type { AuditListStore, ListedRecord } from './audit-list-store.ts'
import { useOf } from './grant-use.ts'
import type { UsedRequest } from './grant-use.ts'

interface GrantUseNeeds {
  database: Database
  grants: Pick<GrantStore, 'findOfUser'>
  auditList: AuditListStore
  reads: ReadBudget
  clock: Clock
}

const days = 30
const dayMs = 86_400_000
const maxCalls = 500

export function grantUseRoutes(http: Http, { database, grants, auditList, reads, clock }: GrantUseNeeds): void {
  http.get(
    '/v4/grants/:id/usage',
    {
      config: { allow: ['user'] },
      schema: {
        tags: ['Grants'],
        summary: 'Read what a grant was used for, and narrower terms that would have been enough',
        description: `Of the last ${days} days, and at most its newest ${maxCalls} calls.`,
        params: IdInPath,
        response: { 200: GrantUseReply },
      },
    },
    async (request) => {
      const { userId } = actingUser(request).user
      const grant = await grants.findOfUser(database.queries, userId, request.params.id)
      if (!grant) throw new ServiceError('not_found')
      const caller = readerKey(request)
      reads.assertLeft(caller)
      const since = new Date(clock().getTime() - days * dayMs)
      const filter = { agentId: grant.agentId, grantId: grant.grantId, event: 'proxy.attempt' as const, since }
      const { records, nextCursor } = await reads.inTurn(caller, async () => {
        const page = await auditList.list(database.queries, { userId }, filter, { limit: maxCalls, before: undefined })
        reads.spend(caller, page.looked)
        return page
      })
      const { methods, hosts, paths, suggestion } = useOf(grant, records.flatMap(requestsOf))
      const oldest = records.at(-1)
      const isComplete = nextCursor === null
      return {
        grant_id: grant.grantId,
        since: since.toISOString(),
        complete_since: isComplete ? null : new Date(oldest?.at ?? clock()).toISOString(),
        calls: records.length,
        ...{ methods, hosts, paths },
        // What was not looked at may have been more.
        suggestion: suggestion && isComplete ? termsView(suggestion) : null,
      }
    },
  )
}

/** A call, and the redirects that it followed. */
function requestsOf({ detail, followUps }: ListedRecord): UsedRequest[] {
  const hops = followUps.filter(({ event }) => event === 'proxy.hop').map((one) => one.detail)
  return [detail, ...hops].map((one) => {
    const { method = '', host = '', path = '' } = JSON.parse(one) as Partial<UsedRequest>
    return { method, host, path }
  })
}

function termsView({
  allowedHosts,
  allowedMethods,
  allowedPaths,
}: NonNullable<ReturnType<typeof useOf>['suggestion']>) {
  return {
    ...(allowedHosts && { allowed_hosts: allowedHosts }),
    ...(allowedMethods && { allowed_methods: allowedMethods }),
    ...(allowedPaths && { allowed_paths: allowedPaths }),
  }
}
