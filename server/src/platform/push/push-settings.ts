/** The settings of push. Files are read at the start, so that a wrong one is reported then and not at the first push. */
import { createPrivateKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FcmAccount } from './fcm.ts'
import { vapidKeyOf } from './vapid-key.ts'
import { ConfigError, httpsOrigin, incomplete, optional, setting, text } from '../config/settings.ts'
import type { SecretSource } from '../config/settings.ts'

/** The value is not shown: it may be the key itself, given instead of the file's name. */
function keyFile<T>(name: string, takes: string, read: (content: string) => T | undefined) {
  return optional((path: string): T => {
    let value: T | undefined
    try {
      value = read(readFileSync(path, 'utf8'))
    } catch {
      // Reported below, with what the setting takes.
    }
    if (value === undefined) throw new ConfigError([`${name} must be the path of a readable file: ${takes}.`])
    return value
  })
}

function apnsKey(content: string): KeyObject | undefined {
  const key = createPrivateKey(content)
  return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined
}

function fcmAccount(content: string): FcmAccount | undefined {
  const file = JSON.parse(content) as Record<string, unknown>
  const member = (name: string) => {
    const value = file[name]
    if (typeof value !== 'string' || value === '') throw new TypeError(name)
    return value
  }
  const key = createPrivateKey(member('private_key'))
  const tokenUri = new URL(member('token_uri'))
  if (key.asymmetricKeyType !== 'rsa' || tokenUri.protocol !== 'https:') return undefined
  const [projectId, clientEmail, keyId] = [member('project_id'), member('client_email'), member('private_key_id')]
  return { projectId, clientEmail, keyId, key, tokenUri }
}

function contact(value: string): string {
  const url = URL.parse(value)
  if (url?.protocol !== 'https:' && !/^mailto:[^@\s]+@[^@\s]+$/.test(value)) {
    throw new TypeError('an https URL or a mailto: address, such as mailto:ops@example.com')
  }
  return value
}

export const pushSettings = {
  SALLYPORT_APNS_KEY_FILE: setting(
    null,
    'APNs .p8 key file, to notify iOS devices',
    keyFile('SALLYPORT_APNS_KEY_FILE', 'an APNs .p8 key (a P-256 private key in PEM)', apnsKey),
  ),
  SALLYPORT_APNS_KEY_ID: setting(null, 'Key ID of the APNs key', optional(text)),
  SALLYPORT_APNS_TEAM_ID: setting(null, 'The team ID of the Apple developer account', optional(text)),
  SALLYPORT_APNS_TOPIC: setting(null, 'The bundle ID of the app', optional(text)),
  SALLYPORT_APNS_URL: setting(null, "APNs server to use, for tests (default: Apple's)", optional(httpsOrigin)),
  SALLYPORT_FCM_CREDENTIALS_FILE: setting(
    null,
    'Firebase service account JSON file, to notify Android devices',
    keyFile('SALLYPORT_FCM_CREDENTIALS_FILE', 'the JSON credentials of a Firebase service account', fcmAccount),
  ),
  SALLYPORT_FCM_URL: setting('https://fcm.googleapis.com', 'URL of Firebase Cloud Messaging', httpsOrigin),
  SALLYPORT_VAPID_SUBJECT: setting(
    null,
    'Contact for push services: an https URL or mailto: address (default: the base URL if it is https)',
    optional(contact),
  ),
}

export const pushSecretSettings = {
  SALLYPORT_VAPID_PRIVATE_KEY: {
    fallback: 'generated on first start',
    meaning: 'VAPID key for Web Push: 32 bytes in base64url. If it changes, browsers have to subscribe again',
  },
} as const

const apns = ['SALLYPORT_APNS_KEY_FILE', 'SALLYPORT_APNS_KEY_ID', 'SALLYPORT_APNS_TEAM_ID', 'SALLYPORT_APNS_TOPIC']

export function pushContradictions(config: { vapidPrivateKey: SecretSource }): string[] {
  const vapid = config.vapidPrivateKey.read()
  const isWrong = vapid && !vapidKeyOf(vapid)
  return [
    ...incomplete('APNs', apns, config),
    ...(isWrong ? ['SALLYPORT_VAPID_PRIVATE_KEY must be a P-256 private key: 32 bytes in base64url.'] : []),
  ]
}

/** Which push services are set up. Web Push needs no setting. */
export function pushChannels(config: { apnsKeyFile?: unknown; fcmCredentialsFile?: unknown }) {
  return { web: true, apns: config.apnsKeyFile !== undefined, fcm: config.fcmCredentialsFile !== undefined }
}
