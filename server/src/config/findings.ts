/** Checks the settings and files of an instance, and says what to fix. */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../platform/clock.ts'
import type { Config } from './config.ts'
import { freeBytes } from '../platform/limits/disk-space.ts'
import { adminTokenFile, databaseFile } from '../platform/operations/instance.ts'
import { pushChannels } from '../platform/push/push-settings.ts'

export interface Finding {
  what: string
  /** A warning needs no fix, but the operator should know. */
  level: 'well' | 'warning' | 'wrong'
  words: string
}

export function findingsOf(config: Config, unknownSettings: readonly string[], clock: Clock): Finding[] {
  return [
    settings(unknownSettings),
    ...files(config),
    ...disk(config),
    baseUrlOf(config),
    tls(config, clock()),
    push(config),
    legacyV1(config),
  ]
}

function settings(unknown: readonly string[]): Finding {
  const what = 'settings'
  return unknown.length === 0
    ? { what, level: 'well', words: 'valid' }
    : { what, level: 'wrong', words: `unknown: ${unknown.join(', ')}. Are they misspelled?` }
}

function files(config: Config): Finding[] {
  if (config.databaseUrl.isSet) return []
  const what = 'data directory'
  if (!existsSync(config.dataDir)) {
    return [{ what, level: 'well', words: `${config.dataDir} does not exist yet; the first start creates it` }]
  }
  const expected: [string, number][] = [
    [config.dataDir, 0o700],
    [databaseFile(config), 0o600],
    [join(config.dataDir, 'master-key'), 0o600],
    [adminTokenFile(config) ?? config.dataDir, config.adminToken.isSet ? 0o700 : 0o600],
  ]
  const loose = expected.filter(([file, mode]) => existsSync(file) && (statSync(file).mode & 0o777 & ~mode) !== 0)
  if (loose.length === 0) return [{ what, level: 'well', words: `${config.dataDir}, private to its owner` }]
  const words = loose.map(([file, mode]) => `chmod ${mode.toString(8)} ${file}`).join(' && ')
  return [{ what, level: 'wrong', words: `other users can read it: ${words}` }]
}

const mebibyte = 1024 * 1024

/** The disk of PostgreSQL is not visible from here. */
function disk({ databaseUrl, dataDir, diskFloorBytes }: Config): Finding[] {
  if (databaseUrl.isSet || !existsSync(dataDir)) return []
  const what = 'disk'
  const free = freeBytes(dataDir)
  const words = `${Math.floor(free / mebibyte)} MiB free in ${dataDir}`
  const floor = `SALLYPORT_DISK_FLOOR_BYTES is ${Math.floor(diskFloorBytes / mebibyte)} MiB`
  if (free < diskFloorBytes) {
    return [{ what, level: 'wrong', words: `${words}, and ${floor}: only reading and revoking work. Free some space.` }]
  }
  if (free < 4 * diskFloorBytes) {
    return [
      { what, level: 'warning', words: `${words}, and ${floor}: registrations will be refused soon. Free some space.` },
    ]
  }
  return [{ what, level: 'well', words }]
}

function baseUrlOf({ baseUrl, host }: Config): Finding {
  const isHttps = baseUrl.protocol === 'https:'
  const words = isHttps ? baseUrl.origin : `${baseUrl.origin} (listening on ${host}: for this machine only)`
  return { what: 'base URL', level: 'well', words }
}

/** Most certificates are renewed a month before they expire. */
const renewBeforeMs = 14 * 86_400_000

function tls({ tlsCertFile, tlsKeyFile, baseUrl }: Config, now: Date): Finding {
  const what = 'TLS'
  if (tlsCertFile === undefined || tlsKeyFile === undefined) {
    const isHttps = baseUrl.protocol === 'https:'
    const words = isHttps ? 'not served here: a reverse proxy has to' : 'not needed on loopback'
    return { what, level: 'well', words }
  }
  try {
    const certificate = new X509Certificate(readFileSync(tlsCertFile))
    const problems = [
      certificate.checkPrivateKey(createPrivateKey(readFileSync(tlsKeyFile)))
        ? ''
        : 'the private key does not match it',
      certificate.checkHost(baseUrl.hostname) === undefined ? `it is not valid for ${baseUrl.hostname}` : '',
      certificate.validToDate <= now ? `it expired on ${certificate.validTo}` : '',
      certificate.validFromDate > now ? `it is valid only from ${certificate.validFrom}` : '',
    ].filter((problem) => problem !== '')
    if (problems.length > 0) {
      return { what, level: 'wrong', words: `${tlsCertFile}: ${problems.join('; ')}. Replace the certificate.` }
    }
    const words = `${tlsCertFile}, valid to ${certificate.validTo}`
    return certificate.validToDate.getTime() - now.getTime() < renewBeforeMs
      ? { what, level: 'warning', words: `${words}. Renew it, then send SIGHUP to the service.` }
      : { what, level: 'well', words }
  } catch (error) {
    const words = `${tlsCertFile} or ${tlsKeyFile} cannot be used: ${(error as Error).message}`
    return { what, level: 'wrong', words }
  }
}

function push(config: Config): Finding {
  const { apns, fcm } = pushChannels(config)
  const told = ['browsers', ...(apns ? ['iOS'] : []), ...(fcm ? ['Android'] : [])]
  const not = [
    ...(apns ? [] : ['iOS (SALLYPORT_APNS_KEY_FILE)']),
    ...(fcm ? [] : ['Android (SALLYPORT_FCM_CREDENTIALS_FILE)']),
  ]
  const rest = not.length === 0 ? '' : `; not configured: ${not.join(', ')}`
  return { what: 'push', level: 'well', words: `${told.join(', ')}${rest}` }
}

/** By default, envelopes are not bound to a request and anyone may register. */
function legacyV1({ v1Binding, v1Registration, v1Read }: Config): Finding {
  const what = 'legacy v1'
  const warnings = [
    v1Binding === 'optional' && v1Registration === 'open'
      ? 'anyone can register, and a relay can mix unbound envelopes: set SALLYPORT_V1_BINDING=required or ' +
        'SALLYPORT_V1_REGISTRATION=closed to prevent that'
      : '',
    v1Read === 'recipient' && v1Binding === 'optional'
      ? 'a relay can have the result of an unbound read encrypted to its own key (SALLYPORT_V1_READ)'
      : '',
  ].filter((words) => words !== '')
  return warnings.length === 0
    ? { what, level: 'well', words: 'envelopes are bound, or registration is closed' }
    : { what, level: 'warning', words: warnings.join('; ') }
}
