/** What can be said of the settings and files of an instance: whether each thing is well, or what to mend. */
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
  /** A warning is not wrong, but to be known. */
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
    ? { what, level: 'well', words: 'all are understood' }
    : { what, level: 'wrong', words: `not known: ${unknown.join(', ')}. Are they misspelt?` }
}

function files(config: Config): Finding[] {
  if (config.databaseUrl.isSet) return []
  const what = 'data directory'
  if (!existsSync(config.dataDir)) {
    return [{ what, level: 'well', words: `${config.dataDir} is not there yet; the first start makes it` }]
  }
  const expected: [string, number][] = [
    [config.dataDir, 0o700],
    [databaseFile(config), 0o600],
    [join(config.dataDir, 'master-key'), 0o600],
    [adminTokenFile(config) ?? config.dataDir, config.adminToken.isSet ? 0o700 : 0o600],
  ]
  const loose = expected.filter(([file, mode]) => existsSync(file) && (statSync(file).mode & 0o777 & ~mode) !== 0)
  if (loose.length === 0) return [{ what, level: 'well', words: `${config.dataDir}, for its owner alone` }]
  const words = loose.map(([file, mode]) => `chmod ${mode.toString(8)} ${file}`).join(' && ')
  return [{ what, level: 'wrong', words: `others can read it: ${words}` }]
}

const mebibyte = 1024 * 1024

/** PostgreSQL's disk can't be seen from here. */
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
      { what, level: 'warning', words: `${words}, and ${floor}: registrations are refused soon. Free some space.` },
    ]
  }
  return [{ what, level: 'well', words }]
}

function baseUrlOf({ baseUrl, host }: Config): Finding {
  const isHttps = baseUrl.protocol === 'https:'
  const words = isHttps ? baseUrl.origin : `${baseUrl.origin} (listening on ${host}: for this machine only)`
  return { what: 'base URL', level: 'well', words }
}

/** Most are renewed a month before they expire. */
const renewBeforeMs = 14 * 86_400_000

function tls({ tlsCertFile, tlsKeyFile, baseUrl }: Config, now: Date): Finding {
  const what = 'TLS'
  if (tlsCertFile === undefined || tlsKeyFile === undefined) {
    const isHttps = baseUrl.protocol === 'https:'
    const words = isHttps ? 'not served here: a proxy in front has to' : 'not served, not needed on loopback'
    return { what, level: 'well', words }
  }
  try {
    const certificate = new X509Certificate(readFileSync(tlsCertFile))
    const problems = [
      certificate.checkPrivateKey(createPrivateKey(readFileSync(tlsKeyFile))) ? '' : 'the key does not belong to it',
      certificate.checkHost(baseUrl.hostname) === undefined ? `it does not name ${baseUrl.hostname}` : '',
      certificate.validToDate <= now ? `it expired on ${certificate.validTo}` : '',
      certificate.validFromDate > now ? `it is valid only from ${certificate.validFrom}` : '',
    ].filter((problem) => problem !== '')
    if (problems.length > 0) {
      return { what, level: 'wrong', words: `${tlsCertFile}: ${problems.join('; ')}. Get another certificate.` }
    }
    const words = `${tlsCertFile}, valid to ${certificate.validTo}`
    return certificate.validToDate.getTime() - now.getTime() < renewBeforeMs
      ? { what, level: 'warning', words: `${words}. Renew it, then send SIGHUP to the service.` }
      : { what, level: 'well', words }
  } catch (error) {
    const words = `${tlsCertFile} or ${tlsKeyFile} can not be used: ${(error as Error).message}`
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
  const rest = not.length === 0 ? '' : `; not set up: ${not.join(', ')}`
  return { what: 'push', level: 'well', words: `${told.join(', ')}${rest}` }
}

/** The contract's envelopes are tied to nothing, and a stranger may be a client too. */
function legacyV1({ v1Binding, v1Registration, v1Read }: Config): Finding {
  const what = 'legacy v1'
  const warnings = [
    v1Binding === 'optional' && v1Registration === 'open'
      ? 'anyone may register, and a relay can mix envelopes that are not bound: SALLYPORT_V1_BINDING=required or ' +
        'SALLYPORT_V1_REGISTRATION=closed ends that'
      : '',
    v1Read === 'recipient' && v1Binding === 'optional'
      ? 'whoever relays a read that is not bound can have its result encrypted to a key of their own (SALLYPORT_V1_READ)'
      : '',
  ].filter((words) => words !== '')
  return warnings.length === 0
    ? { what, level: 'well', words: 'envelopes are bound, or clients known' }
    : { what, level: 'warning', words: warnings.join('; ') }
}
