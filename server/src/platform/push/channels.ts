import type { Config } from '../config.ts'

/** Which services devices are notified through. Browsers need no setting. */
export function pushChannels(config: Pick<Config, 'apnsKeyFile' | 'fcmCredentialsFile'>) {
  return { web: true, apns: config.apnsKeyFile !== undefined, fcm: config.fcmCredentialsFile !== undefined }
}
