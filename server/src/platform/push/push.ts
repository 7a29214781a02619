/** Sends a notification through the push service of the device. */
import type { Clock } from '../clock.ts'
import type { PlatformConfig } from '../config/platform-settings.ts'
import type { Egress } from '../egress/egress.ts'
import { createApns } from './apns.ts'
import { createFcm } from './fcm.ts'
import type { Notification, PushOutcome, PushTarget } from './push-service.ts'
import type { VapidKey } from './vapid-key.ts'
import { createWebPush } from './web-push.ts'

interface PushNeeds {
  config: PlatformConfig
  egress: Egress
  clock: Clock
  vapid: VapidKey
}

export type Push = ReturnType<typeof createPush>

const notSet: PushOutcome = { kind: 'refused', reason: 'service_not_set_up' }

export function createPush({ config, vapid, ...needs }: PushNeeds) {
  const { apnsKeyFile: key, apnsKeyId: keyId, apnsTeamId: teamId, apnsTopic: topic, apnsUrl: url } = config
  const isApnsSet = key && keyId !== undefined && teamId !== undefined && topic !== undefined
  const apns = isApnsSet ? createApns(needs, { key, keyId, teamId, topic, url }) : undefined
  const fcm = config.fcmCredentialsFile && createFcm(needs, config.fcmCredentialsFile, config.fcmUrl)
  const web = createWebPush(needs, vapid, config.vapidSubject ?? defaultSubject(config.baseUrl))
  return {
    send: async (target: PushTarget, notification: Notification): Promise<PushOutcome> => {
      switch (target.service) {
        case 'apns':
          return apns ? apns(target, notification) : notSet
        case 'fcm':
          return fcm ? fcm(target, notification) : notSet
        case 'web':
          return web(target, notification)
      }
    },
  }
}

/** A contact for the push service's operators. Some services refuse a localhost URL. */
function defaultSubject(baseUrl: URL): string {
  const isPublic = baseUrl.protocol === 'https:' && baseUrl.hostname !== 'localhost'
  return isPublic ? baseUrl.origin : 'mailto:sallyport@example.com'
}
