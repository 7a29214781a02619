import { Repeat as RepeatView, RepeatPage } from '@sallyport/protocol/calls'
import { PageQuery } from '@sallyport/protocol/lists'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import { actingPerson, actingUser, onBehalfOf } from '../authenticate.ts'
import { pageRequest } from '../platform/database/paging.ts'
import type { Http } from '../platform/http/http.ts'
import { repeatViews } from './held-call-view.ts'
import type { CallViewNeeds } from './held-call-view.ts'
import { revokeRepeat } from './revoke-repeat.ts'
import type { RevokeRepeatNeeds } from './revoke-repeat.ts'

const tags = ['Held calls']

export function repeatRoutes(http: Http, needs: CallViewNeeds & RevokeRepeatNeeds): void {
  const { database, repeats, clock } = needs

  http.get(
    '/v4/calls/repeats',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags,
        summary: 'List your approvals that allow further calls without asking you',
        querystring: PageQuery('rep'),
        response: { 200: RepeatPage },
      },
    },
    async (request) => {
      const { user } = actingPerson(request)
      const page = await repeats.list(database.queries, user.userId, pageRequest(request.query), clock())
      return { repeats: await repeatViews(needs, page.records), next_cursor: page.nextCursor }
    },
  )

  http.delete(
    '/v4/calls/repeats/:id',
    {
      config: { allow: ['user'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Revoke such an approval: further calls wait for you again',
        params: IdInPath,
        body: NoBody,
        response: { 200: RepeatView },
      },
    },
    async (request) => {
      const { user } = actingUser(request)
      const revoked = await revokeRepeat(onBehalfOf(request, needs), user, request.params.id, request.id)
      const [view] = await repeatViews(needs, [revoked])
      if (!view) throw new Error('a repeat has a view')
      return view
    },
  )
}
