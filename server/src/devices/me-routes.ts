import { ChangeMeBody, MeReply, User as UserView } from '@sallyport/protocol/sessions'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { actingPerson, onBehalfOf } from '../authenticate.ts'
import type { Config } from '../config/config.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { isForThisMachine } from '../sessions/operator.ts'
import { sessionEnds } from '../sessions/session.ts'
import { sessionView } from '../sessions/session-routes.ts'
import type { User } from '../sessions/user.ts'
import { userView } from '../sessions/user-routes.ts'
import { readSigned } from './challenge.ts'
import { liftDeviceApproval, requireDeviceApproval, resetDeviceApproval } from './device-approval.ts'
import type { DeviceApprovalNeeds } from './device-approval.ts'
import { deviceView } from './device-view.ts'

/** The current user, and whether they require device approval. In this folder because both need devices. */
export function meRoutes(
  http: Http,
  needs: DeviceApprovalNeeds & { config: Pick<Config, 'sessionIdleSeconds' | 'host' | 'baseUrl' | 'trustProxy'> },
) {
  const { config, clock } = needs
  const view = (request: FastifyRequest, user: User): Static<typeof MeReply> => {
    const { session, device } = actingPerson(request)
    return {
      user: userView(user),
      session: session ? sessionView(session, session, sessionEnds(config.sessionIdleSeconds, clock())) : null,
      operator: session?.isOperator === true && isForThisMachine(config),
      device: device ? deviceView(device) : null,
    }
  }

  http.get(
    '/v4/auth/me',
    {
      config: { allow: ['user', 'device'] },
      schema: { tags: ['Sessions'], summary: 'Get the signed-in user', response: { 200: MeReply } },
    },
    (request) => view(request, actingPerson(request).user),
  )

  http.patch(
    '/v4/auth/me',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags: ['Sessions'],
        summary: 'Turn "approve on device only" on, or off with a signature ("off"); a device can only turn it off',
        body: ChangeMeBody,
        response: { 200: MeReply },
      },
    },
    async (request) => {
      const { user, device } = actingPerson(request)
      const signed = readSigned(request.body)
      const acting = onBehalfOf(request, needs)
      if (!request.body.require_device_approval) {
        return view(request, await liftDeviceApproval(acting, user, signed, request.id))
      }
      if (device) throw new ServiceError('forbidden', { message: 'A device can only turn this off, with a signature.' })
      if (signed) {
        const message = '"challenge_id" and "signature" are only for turning this off. Omit them.'
        throw new ServiceError('invalid_field', { field: 'challenge_id', message })
      }
      return view(request, await requireDeviceApproval(acting, user, request.id))
    },
  )

  http.post(
    '/v4/users/:id/reset-device-approval',
    {
      config: { allow: ['admin'] },
      schema: {
        tags: ['Users'],
        summary: 'For a user who has lost their devices: stop requiring approval on a device',
        params: IdInPath,
        body: NoBody,
        response: { 200: UserView },
      },
    },
    async ({ params, id }) => userView(await resetDeviceApproval(needs, params.id, id)),
  )
}
