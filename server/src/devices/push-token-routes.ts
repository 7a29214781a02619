import { Device as DeviceView } from '@sallyport/protocol/devices'
import { PushTokenBody } from '@sallyport/protocol/push-tokens'
import { IdInPath } from '@sallyport/protocol/schema'
import { actingPerson, onBehalfOf } from '../authenticate.ts'
import type { Http } from '../platform/http/http.ts'
import { Secret } from '../platform/secret.ts'
import { deviceView } from './device-view.ts'
import { setPushToken } from './set-push-token.ts'
import type { SetPushTokenNeeds } from './set-push-token.ts'

export function pushTokenRoutes(http: Http, needs: SetPushTokenNeeds): void {
  http.post(
    '/v4/devices/:id/push-token',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags: ['Devices'],
        summary: 'Set the push token of a device',
        params: IdInPath,
        body: PushTokenBody,
        response: { 200: DeviceView },
      },
    },
    async (request) => {
      const { push_token, push_environment: environment = 'production' } = request.body
      const given = { token: new Secret(push_token), environment }
      const by = actingPerson(request)
      return deviceView(await setPushToken(onBehalfOf(request, needs), by, request.params.id, given))
    },
  )
}
