import {
  PollDeviceFlowBody,
  PollDeviceFlowReply,
  StartDeviceFlowBody,
  StartDeviceFlowReply,
} from '@sallyport/protocol/connections'
import { actingUser, onBehalfOf } from '../authenticate.ts'
import type { Http } from '../platform/http/http.ts'
import { pollDeviceFlow } from './poll-device-flow.ts'
import type { PollDeviceFlowNeeds } from './poll-device-flow.ts'
import { startDeviceFlow } from './start-device-flow.ts'
import type { StartDeviceFlowNeeds } from './start-device-flow.ts'

const tags = ['Connections']

export function deviceFlowRoutes(http: Http, needs: StartDeviceFlowNeeds & PollDeviceFlowNeeds): void {
  http.post(
    '/v4/oauth/device/start',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Start connecting an account with a device code',
        body: StartDeviceFlowBody,
        response: { 201: StartDeviceFlowReply },
      },
    },
    async (request, reply) => {
      const { body } = request
      const begun = await startDeviceFlow(onBehalfOf(request, needs), actingUser(request).user, {
        providerSlug: body.provider_slug,
        providerId: body.provider_id,
        scopes: body.scopes,
        connectionId: body.connection_id,
      })
      return reply.code(201).send({
        device_flow_id: begun.deviceFlowId,
        user_code: begun.userCode,
        verification_uri: begun.verificationUri,
        verification_uri_complete: begun.verificationUriComplete,
        warning: begun.warning,
        expires_at: begun.expiresAt.toISOString(),
        interval: begun.intervalSeconds,
      })
    },
  )

  http.post(
    '/v4/oauth/device/poll',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Poll a device flow',
        body: PollDeviceFlowBody,
        response: { 200: PollDeviceFlowReply },
      },
    },
    async (request) => {
      const { user } = actingUser(request)
      const progress = await pollDeviceFlow(onBehalfOf(request, needs), user, request.body.device_flow_id, request.id)
      return {
        status: progress.status,
        interval: progress.intervalSeconds,
        ...(progress.connectionId !== undefined && { connection_id: progress.connectionId }),
      }
    },
  )
}
