import { ChangeGrantBody, GrantChallengeBody, GrantChallengeReply } from '@sallyport/protocol/access-requests'
import { approvalMessage } from '@sallyport/protocol/approval-message'
import { Grant as GrantView } from '@sallyport/protocol/grants'
import { IdInPath } from '@sallyport/protocol/schema'
import { actingDevice, actingPerson, onBehalfOf } from '../authenticate.ts'
import { readSigned } from '../devices/challenge.ts'
import type { IssueChallengeNeeds } from '../devices/issue-challenge.ts'
import { grantView } from '../grants/grant-view.ts'
import type { Http } from '../platform/http/http.ts'
import type { ApproveNeeds } from './approve.ts'
import { challengeOnGrant, changeGrant } from './change-grant.ts'
import { decisionIn } from './decision-routes.ts'

const tags = ['Grants']

export function changeRoutes(http: Http, needs: ApproveNeeds & IssueChallengeNeeds): void {
  http.post(
    '/v4/grants/:id/challenge',
    {
      config: { allow: ['device'] },
      schema: {
        tags,
        summary: 'Create a challenge for this device to sign, bound to a change of a grant',
        params: IdInPath,
        body: GrantChallengeBody,
        response: { 201: GrantChallengeReply },
      },
    },
    async (request, reply) => {
      const { user, device } = actingDevice(request)
      const change = decisionIn(request.body) ?? {}
      const { challenge, accessRequestId } = await challengeOnGrant(
        onBehalfOf(request, needs),
        { user, device },
        request.params.id,
        change,
      )
      const { challengeId, nonce, expiresAt } = challenge
      return reply.code(201).send({
        challenge_id: challengeId,
        nonce,
        expires_at: expiresAt.toISOString(),
        access_request_id: accessRequestId,
        signing_input: approvalMessage(challengeId, nonce, accessRequestId, 'approve'),
      })
    },
  )

  http.patch(
    '/v4/grants/:id',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags,
        summary: 'Change the terms of a grant',
        description:
          'Narrower terms apply at once, also to calls in progress that they do not cover. Wider ones, such as a later ' +
          'expiry, count as an approval: never wider than what was requested, and signed by a device if the user ' +
          'approves on devices only.',
        params: IdInPath,
        body: ChangeGrantBody,
        response: { 200: GrantView },
      },
    },
    async (request) => {
      const { user, device } = actingPerson(request)
      const { body } = request
      const change = {
        allowedHosts: body.allowed_hosts,
        allowedMethods: body.allowed_methods,
        allowedPaths: body.allowed_paths,
        maxCalls: body.max_calls,
        expiresAt: body.expires_at,
        mode: body.mode,
        exceptions: body.exceptions,
        maxAccess: body.max_access,
      }
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
      const grant = await changeGrant(
        onBehalfOf(request, needs),
        { user, device },
        request.params.id,
        { change: given, sent: decisionIn(body) ?? {}, signed: readSigned(body) },
        request.id,
      )
      request.loggedIds = { ...request.loggedIds, grant_id: grant.grantId }
      const description = (await needs.grants.describe(needs.database.queries, [grant.grantId])).get(grant.grantId)
      if (!description) throw new Error('the grant is there')
      return grantView(grant, description, 'user', needs.clock())
    },
  )
}
