import { Type, type Static } from 'typebox'
import { Strict, Text } from './schema.ts'

export const pushEnvironments = ['production', 'sandbox'] as const

export const PushTokenBody = Strict({
  push_token: Text({
    minLength: 1,
    maxLength: 4096,
    description:
      'iOS: the APNs device token in hex. Android: the FCM registration token. ' +
      'Web: the JSON-encoded PushSubscription.',
  }),
  push_environment: Type.Optional(
    Type.Enum(pushEnvironments, { default: 'production', description: 'Which APNs environment the token belongs to' }),
  ),
})
export type PushTokenBody = Static<typeof PushTokenBody>
