import { AgentCall, AgentCallPage, ListCallsQuery, PersonCall, PersonCallPage } from '@sallyport/protocol/calls'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { actingAgent, actingPerson, onBehalfOf } from '../authenticate.ts'
import type { Clock } from '../platform/clock.ts'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { applyWait, preferredWait, whenGone } from '../platform/http/prefer.ts'
import type { Holding } from '../proxy/holding.ts'
import { noRoom } from '../proxy/unsent-answers.ts'
import type { UnsentAnswers } from '../proxy/unsent-answers.ts'
import { cancelCall } from './cancel.ts'
import { hasEnded } from './held-call.ts'
import { agentView, personView, personViews } from './held-call-view.ts'
import type { CallViewNeeds } from './held-call-view.ts'
import type { SettleNeeds } from './settle.ts'

const tags = ['Held calls']

export interface HeldCallRouteNeeds extends CallViewNeeds, SettleNeeds {
  database: CallViewNeeds['database']
  heldCalls: Holding
  unsentAnswers: UnsentAnswers
  clock: Clock
}

export function heldCallRoutes(http: Http, needs: HeldCallRouteNeeds): void {
  const { database, heldCallStore, heldCalls, clock } = needs
  const findOf = async (owner: { agentId: string } | { userId: string }, callId: string) => {
    const call = await heldCallStore.find(database.queries, callId, clock())
    const isOwn = call && ('agentId' in owner ? call.agentId === owner.agentId : call.userId === owner.userId)
    if (!isOwn) throw new ServiceError('not_found')
    return call
  }

  http.get(
    '/v4/calls',
    {
      config: { allow: ['agent', 'user', 'device'] },
      schema: {
        tags,
        summary: 'List calls that waited for approval, newest first; `status=waiting` for those that wait now',
        description: 'An agent gets its own calls, without their responses; a person those that they decide.',
        querystring: ListCallsQuery,
        response: {
          200: Type.Union([PersonCallPage, AgentCallPage], {
            description: 'A page of calls, as a person or their agent sees them.',
          }),
        },
      },
    },
    async (request, reply) => {
      const page = pageRequest(request.query)
      if (request.actor?.kind === 'agent') {
        const { agentId } = request.actor.agent
        const { records, nextCursor } = await heldCallStore.list(database.queries, { agentId }, page, clock())
        const views = await Promise.all(records.map((call) => agentView(needs, call)))
        return plainJson(reply, { calls: views, next_cursor: nextCursor })
      }
      const { user } = actingPerson(request)
      const { records, nextCursor } = await heldCallStore.list(database.queries, { userId: user.userId }, page, clock())
      return plainJson(reply, { calls: await personViews(needs, records), next_cursor: nextCursor })
    },
  )

  http.get(
    '/v4/calls/:id',
    {
      config: { allow: ['agent', 'user', 'device'] },
      schema: {
        tags,
        summary: 'Get a held call; for its agent with the response, once there is one',
        description: 'With `Prefer: wait=N` (1 to 300 seconds) an agent is answered once the call has ended.',
        params: IdInPath,
        response: {
          200: Type.Union([PersonCall, AgentCall], { description: 'The call, as a person or its agent sees it.' }),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      if (request.actor?.kind !== 'agent') {
        const { user } = actingPerson(request)
        return plainJson(reply, await personView(needs, await findOf({ userId: user.userId }, id)))
      }
      const { agentId } = request.actor.agent
      let call = await findOf({ agentId }, id)
      const seconds = preferredWait(request)
      if (seconds !== undefined) applyWait(reply, seconds)
      if (seconds !== undefined && !hasEnded(call)) {
        await heldCalls.wait(agentId, id, seconds, whenGone(reply))
        await request.assertStillAdmitted()
        call = await findOf({ agentId }, id)
      }
      const response = call.status === 'done' ? await heldCallStore.openResponse(database.queries, call) : undefined
      const view = await agentView(needs, call, { hasResponse: response !== undefined })
      return response ? sendWith(needs, reply, agentId, view, response) : plainJson(reply, view)
    },
  )

  http.post(
    '/v4/calls/:id/cancel',
    {
      config: { allow: ['agent'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Cancel a call that waits for approval',
        params: IdInPath,
        body: NoBody,
        response: { 200: AgentCall },
      },
    },
    async (request) => {
      const { agent } = actingAgent(request)
      return agentView(needs, await cancelCall(onBehalfOf(request, needs), agent, request.params.id, request.id))
    },
  )
}

/** Each kind of caller gets its own form, and the schema describes both. */
function plainJson(reply: FastifyReply, value: object): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(Buffer.from(JSON.stringify(value)))
}

/** The response is JSON already. */
function sendWith(
  { unsentAnswers }: HeldCallRouteNeeds,
  reply: FastifyReply,
  agentId: string,
  view: AgentCall,
  response: Buffer,
): FastifyReply {
  const head = `${JSON.stringify({ ...view, response: undefined }).slice(0, -1)},"response":`
  const whole = Buffer.concat([Buffer.from(head), response, Buffer.from('}')])
  const room = unsentAnswers.hold(agentId)
  reply.raw.once('close', room.release)
  if (!room.grow(whole.length)) throw noRoom('Too many responses are unread. Wait for the time in Retry-After.')
  return reply.type('application/json; charset=utf-8').send(whole)
}
