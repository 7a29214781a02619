import {
  AccessRequest as AccessRequestView,
  ApproveBody,
  ChallengeBody,
  ChallengeReply,
  DenyBody,
} from '@sallyport/protocol/access-requests'
import { approvalMessage } from '@sallyport/protocol/approval-message'
import { termNames } from '@sallyport/protocol/grant-terms'
import type { TermName } from '@sallyport/protocol/grant-terms'
import { Grant as GrantView } from '@sallyport/protocol/grants'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import { actingDevice, actingPerson, actingUser, onBehalfOf } from '../authenticate.ts'
import { readSigned } from '../devices/challenge.ts'
import { grantView } from '../grants/grant-view.ts'
import type { Http } from '../platform/http/http.ts'
import { viewOf } from './access-request-view.ts'
import type { ViewNeeds } from './access-request-view.ts'
import { approveAccessRequest } from './approve.ts'
import type { ApproveNeeds } from './approve.ts'
import { challengeDevice } from './challenge-device.ts'
import type { ChallengeDeviceNeeds } from './challenge-device.ts'
import { denyAccessRequest } from './deny.ts'
import type { DenyNeeds } from './deny.ts'
import { renewAccessRequest } from './renew.ts'
import type { RenewNeeds } from './renew.ts'

const tags = ['Access requests']

type DecisionRouteNeeds = ViewNeeds & ApproveNeeds & DenyNeeds & ChallengeDeviceNeeds & RenewNeeds

export function decisionRoutes(http: Http, needs: DecisionRouteNeeds): void {
  http.post(
    '/v4/access-requests/:id/challenge',
    {
      config: { allow: ['device'] },
      schema: {
        tags,
        summary: 'Create a challenge for this device to sign, bound to the decision in the body if there is one',
        params: IdInPath,
        body: ChallengeBody,
        response: { 201: ChallengeReply },
      },
    },
    async (request, reply) => {
      const { user, device } = actingDevice(request)
      const { id } = request.params
      const challenge = await challengeDevice(
        onBehalfOf(request, needs),
        { user, device },
        id,
        decisionIn(request.body),
      )
      const { challengeId, nonce, expiresAt } = challenge
      return reply.code(201).send({
        challenge_id: challengeId,
        nonce,
        expires_at: expiresAt.toISOString(),
        signing_input: {
          approve: approvalMessage(challengeId, nonce, id, 'approve'),
          deny: approvalMessage(challengeId, nonce, id, 'deny'),
        },
      })
    },
  )

  http.post(
    '/v4/access-requests/:id/approve',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags,
        summary: 'Approve a request: creates a grant, never wider than what was requested',
        params: IdInPath,
        body: ApproveBody,
        response: { 201: GrantView },
      },
    },
    async (request, reply) => {
      const { user, device } = actingPerson(request)
      const { body } = request
      const decision = {
        connectionId: body.connection_id,
        allowedHosts: body.allowed_hosts,
        allowedMethods: body.allowed_methods,
        allowedPaths: body.allowed_paths,
        maxCalls: body.max_calls,
        expiresAt: body.expires_at,
        mode: body.mode,
        exceptions: body.exceptions,
        maxAccess: body.max_access,
      }
      const approval = { decision, sent: decisionIn(body) ?? {}, signed: readSigned(body) }
      const grant = await approveAccessRequest(
        onBehalfOf(request, needs),
        { user, device },
        request.params.id,
        approval,
        request.id,
      )
      const described = await needs.grants.describe(needs.database.queries, [grant.grantId])
      const description = described.get(grant.grantId)
      if (!description) throw new Error('the grant is there')
      return reply.code(201).send(grantView(grant, description, 'user', needs.clock()))
    },
  )

  http.post(
    '/v4/access-requests/:id/deny',
    {
      config: { allow: ['user', 'device'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Deny a request; the agent is muted for a day',
        params: IdInPath,
        body: DenyBody,
        response: { 200: AccessRequestView },
      },
    },
    async (request) => {
      const { user, device } = actingPerson(request)
      const { reason, block = false, ...signed } = request.body
      const denial = { reason, block, signed: readSigned(signed) }
      const denied = await denyAccessRequest(
        onBehalfOf(request, needs),
        { user, device },
        request.params.id,
        denial,
        request.id,
      )
      return viewOf(needs, denied, { user })
    },
  )

  http.post(
    '/v4/access-requests/:id/renew',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Open a request again: a new one with the same terms, for you to decide',
        description:
          'For a request that expired or was denied, and for one whose grant has ended: then with the terms of the grant. ' +
          'An equal request that waits for you is returned instead.',
        params: IdInPath,
        body: NoBody,
        response: { 201: AccessRequestView },
      },
    },
    async (request, reply) => {
      const { user } = actingUser(request)
      const renewed = await renewAccessRequest(onBehalfOf(request, needs), user, request.params.id, request.id)
      return reply.code(201).send(await viewOf(needs, renewed, { user }))
    },
  )
}

/** The decision as sent. Other members of a challenge's body are ignored. */
export function decisionIn(body: Partial<Record<TermName, unknown>> | undefined): Record<string, unknown> | undefined {
  const members = termNames.flatMap((name) => (body?.[name] === undefined ? [] : [[name, body[name]]]))
  return members.length > 0 ? (Object.fromEntries(members) as Record<string, unknown>) : undefined
}
