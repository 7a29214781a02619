import { Type, type Static } from 'typebox'
import { Strict, Text } from './schema.ts'

export const pushEnvironments = ['production', 'sandbox'] as const

export const PushTokenBody = Strict({
  push_token: Text({
    minLength: 1,
    maxLength: 4096,
    description:
      "iOS: the device token of Apple's push service in hex. Android: Firebase's registration token. " +
      'Web: the JSON text of the PushSubscription.',
  }),
  push_environment: Type.Optional(
    Type.Enum(pushEnvironments, { default: 'production', description: "Which of Apple's services knows the token" }),
  ),
})
export type PushTokenBody = Static<typeof PushTokenBody>
