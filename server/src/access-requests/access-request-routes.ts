import {
  AccessRequest as AccessRequestView,
  AccessRequestPage,
  CreateAccessRequestBody,
  CreateAccessRequestReply,
  ListPendingQuery,
} from '@sallyport/protocol/access-requests'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import { actingAgent, actingPerson, onBehalfOf } from '../authenticate.ts'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { mayDecide } from './access-request.ts'
import { viewOf, viewsOf } from './access-request-view.ts'
import type { ViewNeeds } from './access-request-view.ts'
import { cancelAccessRequest } from './cancel.ts'
import type { CancelNeeds } from './cancel.ts'
import { createAccessRequest } from './create.ts'
import type { CreateNeeds } from './create.ts'

const tags = ['Access requests']

export function accessRequestRoutes(
  http: Http,
  needs: ViewNeeds & CreateNeeds & CancelNeeds & { onCreated: () => void; onDecided: () => void },
): void {
  const { database, accessRequests, clock } = needs

  http.post(
    '/v4/access-requests',
    {
      config: { allow: ['agent'], needsDiskSpace: true },
      schema: {
        tags,
        summary: 'Request access; send the person to approval_url',
        description:
          'A request for the provider `sandbox` is approved immediately, callback included, without asking a person.',
        body: CreateAccessRequestBody,
        response: { 201: CreateAccessRequestReply },
      },
    },
    async (request, reply) => {
      const { agent } = actingAgent(request)
      const { body } = request
      const wanted = {
        provider: body.provider,
        hosts: body.hosts,
        methods: body.methods,
        paths: body.paths,
        maxCalls: body.max_calls,
        reason: body.reason,
        userHint: body.user_id,
        callbackUrl: body.callback_url,
      }
      const created = await createAccessRequest(onBehalfOf(request, needs), agent, wanted, request.id)
      if (created.request.status === 'approved') needs.onDecided()
      else needs.onCreated()
      const view = await viewOf(needs, created.request, { agent })
      const secret = created.callbackSecret && { callback_secret: created.callbackSecret.reveal() }
      return reply.code(201).send({ ...view, ...secret })
    },
  )

  http.get(
    '/v4/access-requests/pending',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags,
        summary: 'List access requests waiting for you',
        querystring: ListPendingQuery,
        response: { 200: AccessRequestPage },
      },
    },
    async (request) => {
      const { user } = actingPerson(request)
      const page = await accessRequests.listPending(database.queries, user.userId, pageRequest(request.query), clock())
      return { access_requests: await viewsOf(needs, page.records, { user }), next_cursor: page.nextCursor }
    },
  )

  http.get(
    '/v4/access-requests/:id',
    {
      config: { allow: ['agent', 'user', 'device'] },
      schema: {
        tags,
        summary: 'Get an access request; it has grant_id once it is approved',
        params: IdInPath,
        response: { 200: AccessRequestView },
      },
    },
    async (request) => {
      const found = await accessRequests.find(database.queries, request.params.id)
      if (request.actor?.kind === 'agent') {
        const { agent } = request.actor
        if (found?.agentId !== agent.agentId) throw new ServiceError('not_found')
        return viewOf(needs, found, { agent })
      }
      const { user } = actingPerson(request)
      if (!found || !mayDecide(found, user)) throw new ServiceError('not_found')
      return viewOf(needs, found, { user })
    },
  )

  http.post(
    '/v4/access-requests/:id/cancel',
    {
      config: { allow: ['agent'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Cancel an access request',
        params: IdInPath,
        body: NoBody,
        response: { 200: AccessRequestView },
      },
    },
    async (request) => {
      const { agent } = actingAgent(request)
      const cancelled = await cancelAccessRequest(onBehalfOf(request, needs), agent, request.params.id, request.id)
      return viewOf(needs, cancelled, { agent })
    },
  )
}
