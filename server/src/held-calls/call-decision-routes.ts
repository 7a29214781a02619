import {
  ApproveCallBody,
  CallChallengeBody,
  CallChallengeReply,
  CallReceipt,
  DecideCallsBody,
  DecideCallsReply,
  DenyCallBody,
  PersonCall,
} from '@sallyport/protocol/calls'
import { callMessage } from '@sallyport/protocol/approval-message'
import { errorKinds } from '@sallyport/protocol/errors'
import { IdInPath } from '@sallyport/protocol/schema'
import { actingDevice, actingPerson, actingUser, onBehalfOf } from '../authenticate.ts'
import { readSigned } from '../devices/challenge.ts'
import type { IssueChallengeNeeds } from '../devices/issue-challenge.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { challengeOnCall, decideCall } from './decide.ts'
import type { CallVerdict, DecideCallNeeds } from './decide.ts'
import { personView, receiptOf } from './held-call-view.ts'
import type { CallViewNeeds } from './held-call-view.ts'

const tags = ['Held calls']

export type CallDecisionRouteNeeds = CallViewNeeds & DecideCallNeeds & IssueChallengeNeeds

const byItself = { repeatForSeconds: null, reason: null, digest: undefined, isOneOfSeveral: false }

export function callDecisionRoutes(http: Http, needs: CallDecisionRouteNeeds): void {
  const { database, heldCallStore, clock } = needs

  http.post(
    '/v4/calls/:id/challenge',
    {
      config: { allow: ['device'] },
      schema: {
        tags,
        summary: 'Create a challenge for this device to sign, bound to what the call does',
        params: IdInPath,
        body: CallChallengeBody,
        response: { 201: CallChallengeReply },
      },
    },
    async (request, reply) => {
      const { user, device } = actingDevice(request)
      const { id } = request.params
      const repeatForSeconds = request.body.repeat_for_seconds ?? null
      const { challengeId, nonce, expiresAt } = await challengeOnCall(
        onBehalfOf(request, needs),
        { user, device },
        id,
        repeatForSeconds,
      )
      return reply.code(201).send({
        challenge_id: challengeId,
        nonce,
        expires_at: expiresAt.toISOString(),
        signing_input: {
          approve: callMessage(challengeId, nonce, id, 'approve'),
          deny: callMessage(challengeId, nonce, id, 'deny'),
        },
      })
    },
  )

  http.post(
    '/v4/calls/:id/approve',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags,
        summary:
          'Approve a call: it is made once, now; with repeat_for_seconds such calls are then allowed for a while',
        params: IdInPath,
        body: ApproveCallBody,
        response: { 200: PersonCall },
      },
    },
    async (request) => {
      const { user, device } = actingPerson(request)
      const { digest, repeat_for_seconds: repeat = null, ...signed } = request.body
      const verdict: CallVerdict = {
        ...byItself,
        ...{ verdict: 'approve', digest, repeatForSeconds: repeat, signed: readSigned(signed) },
      }
      const decided = await decideCall(
        onBehalfOf(request, needs),
        { user, device },
        request.params.id,
        verdict,
        request.id,
      )
      return personView(needs, decided)
    },
  )

  http.post(
    '/v4/calls/:id/deny',
    {
      config: { allow: ['user', 'device'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Deny a call; the identical call is then refused for ten minutes',
        params: IdInPath,
        body: DenyCallBody,
        response: { 200: PersonCall },
      },
    },
    async (request) => {
      const { user, device } = actingPerson(request)
      const { reason = null, ...signed } = request.body
      const verdict: CallVerdict = { ...byItself, verdict: 'deny', reason, signed: readSigned(signed) }
      const decided = await decideCall(
        onBehalfOf(request, needs),
        { user, device },
        request.params.id,
        verdict,
        request.id,
      )
      return personView(needs, decided)
    },
  )

  http.post(
    '/v4/calls/decide',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags,
        summary: 'Decide several calls, each by the digest that was shown; a destructive call is approved on its own',
        body: DecideCallsBody,
        response: { 200: DecideCallsReply },
      },
    },
    async (request) => {
      const { user, device } = actingPerson(request)
      const acting = onBehalfOf(request, needs)
      const results: DecideCallsReply['results'] = []
      for (const { call_id: callId, digest, verdict, ...signed } of request.body.decisions) {
        try {
          const given = { ...byItself, verdict, digest, signed: readSigned(signed), isOneOfSeveral: true }
          const { status } = await decideCall(acting, { user, device }, callId, given, request.id)
          results.push({ call_id: callId, status, error: null })
        } catch (error) {
          // The decisions are independent of each other; only a caller who may no longer decide ends the list.
          if (!(error instanceof ServiceError) || error.code === 'unauthenticated') throw error
          results.push({ call_id: callId, status: null, error: errorIn(error) })
        }
      }
      return { results }
    },
  )

  http.get(
    '/v4/calls/:id/receipt',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Get the receipt of a decision, which can be verified without the service',
        params: IdInPath,
        response: { 200: CallReceipt },
      },
    },
    async (request) => {
      const { user } = actingUser(request)
      const call = await heldCallStore.find(database.queries, request.params.id, clock())
      if (call?.userId !== user.userId) throw new ServiceError('not_found')
      return receiptOf(needs, call)
    },
  )
}

function errorIn({ code, publicMessage }: ServiceError) {
  return { code, message: publicMessage ?? errorKinds[code].message }
}
