/**
 * Every setting of the service: its name, what it takes, its default and what it means.
 * A wrong one stops the start; nothing else in the service reads the environment.
 */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { deviceSettings } from './device-settings.ts'
import { legacyV1Settings } from './legacy-v1-settings.ts'
import { listenerSettings } from './listener-settings.ts'
import { loginContradictions, loginSecretSettings, loginSettings } from './login-settings.ts'
import { pushContradictions, pushSecretSettings, pushSettings } from './push-settings.ts'
import { proxySettings } from './proxy-settings.ts'
import { sandboxSettings } from './sandbox-settings.ts'
import { addresses, addressOrName, baseUrl, certificates, egressAllow, flag } from './setting-kinds.ts'
import { integer, oneOf, optional, origins, text } from './setting-kinds.ts'
import { ConfigError, readSecret, readSetting, setting } from './settings.ts'
import type { Environment, SecretSource, Setting } from './settings.ts'
import type { Secret } from './secret.ts'
import { parseMasterKeys } from './vault/master-keys.ts'

export const settings = {
  host: setting('HOST', '127.0.0.1', 'The address to listen on', addressOrName),
  port: setting('PORT', '8787', 'The port to listen on', integer(1, 65_535)),
  baseUrl: setting(
    'SALLYPORT_BASE_URL',
    null,
    'What links are made from; by default from HOST and PORT',
    optional(baseUrl),
  ),
  dataDir: setting('SALLYPORT_DATA_DIR', './data', 'Where the database and the keys lie, mode 0700', (value) =>
    resolve(text(value)),
  ),
  databaseInsecure: setting(
    'SALLYPORT_DATABASE_INSECURE',
    '0',
    'With 1, a database on another machine is reached without verified TLS',
    flag,
  ),
  databaseConnections: setting(
    'SALLYPORT_DATABASE_CONNECTIONS',
    '8',
    'PostgreSQL: connections that the transactions of one process share; three more serve calls and health checks',
    integer(1, 1_000),
  ),
  tlsCertFile: setting(
    'SALLYPORT_TLS_CERT_FILE',
    null,
    'A PEM certificate chain, to serve https directly',
    optional(text),
  ),
  tlsKeyFile: setting('SALLYPORT_TLS_KEY_FILE', null, 'Its private key', optional(text)),
  trustProxy: setting(
    'SALLYPORT_TRUST_PROXY',
    null,
    'Addresses or CIDR ranges whose X-Forwarded-For counts, separated by commas',
    optional(addresses),
  ),
  egressAllow: setting(
    'SALLYPORT_EGRESS_ALLOW',
    null,
    'Places that may be called although they are not public: host:port or CIDR ranges, separated by commas',
    egressAllow,
  ),
  egressCaFile: setting(
    'SALLYPORT_EGRESS_CA_FILE',
    null,
    'A PEM file of more authorities, trusted for what SALLYPORT_EGRESS_ALLOW lists and nothing else',
    optional(certificates),
  ),
  corsOrigins: setting(
    'SALLYPORT_CORS_ORIGINS',
    null,
    'Origins whose pages may call the API with a bearer token, separated by commas',
    origins,
  ),
  metricsPort: setting(
    'SALLYPORT_METRICS_PORT',
    null,
    'Serve /metrics on this port of HOST instead, without a token unless SALLYPORT_METRICS_TOKEN is set',
    optional(integer(1, 65_535)),
  ),
  workers: setting('SALLYPORT_WORKERS', '1', 'Processes that share the port', integer(1, 64)),
  logLevel: setting(
    'SALLYPORT_LOG_LEVEL',
    'info',
    'The least level that is logged',
    oneOf('debug', 'info', 'warn', 'error', 'silent'),
  ),
  logFormat: setting(
    'SALLYPORT_LOG_FORMAT',
    'auto',
    'json, text, or auto: text on a terminal',
    oneOf('auto', 'json', 'text'),
  ),

  registrationsPerMinute: setting(
    'SALLYPORT_REGISTRATIONS_PER_MINUTE',
    '10',
    'Agents that one address (IPv6: one /64) may register a minute',
    integer(1, 1_000_000),
  ),
  registrationsPerDay: setting('SALLYPORT_REGISTRATIONS_PER_DAY', '100', 'The same for a day', integer(1, 1_000_000)),
  registrationsPerDayWide: setting(
    'SALLYPORT_REGISTRATIONS_PER_DAY_48',
    '1000',
    'Agents that one IPv6 /48 may register a day',
    integer(1, 1_000_000),
  ),
  tokenRotationsPerHour: setting(
    'SALLYPORT_TOKEN_ROTATIONS_PER_HOUR',
    '60',
    'How often one agent may rotate its token an hour',
    integer(1, 1_000_000),
  ),
  proposals: setting(
    'SALLYPORT_PROPOSALS',
    'auto',
    'Providers that agents propose: auto registers with them, review leaves that to an admin, off refuses them',
    oneOf('auto', 'review', 'off'),
  ),
  proposalsPerDay: setting(
    'SALLYPORT_PROPOSALS_PER_DAY',
    '10',
    'Providers that one agent may propose a day',
    integer(1, 1_000_000),
  ),
  proposalsPerDayInAll: setting(
    'SALLYPORT_PROPOSALS_PER_DAY_IN_ALL',
    '50',
    'The same for all agents together',
    integer(1, 1_000_000),
  ),
  accessRequestsPending: setting(
    'SALLYPORT_ACCESS_REQUESTS_PENDING',
    '20',
    'Access requests of one agent that may wait for an answer',
    integer(1, 1_000_000),
  ),
  accessRequestsPerHour: setting(
    'SALLYPORT_ACCESS_REQUESTS_PER_HOUR',
    '30',
    'Access requests that one agent may make an hour',
    integer(1, 1_000_000),
  ),
  loginTokenSeconds: setting(
    'SALLYPORT_LOGIN_TOKEN_SECONDS',
    '900',
    'How long a login token waits to be used',
    integer(1, 86_400),
  ),
  sessionIdleSeconds: setting(
    'SALLYPORT_SESSION_IDLE_SECONDS',
    '43200',
    'How long a session lasts without a call',
    integer(60, 31_536_000),
  ),
  sessionSeconds: setting(
    'SALLYPORT_SESSION_SECONDS',
    '604800',
    'How long a session lasts in all',
    integer(60, 31_536_000),
  ),
  connectsPerHour: setting(
    'SALLYPORT_CONNECTS_PER_HOUR',
    '60',
    'How often one user may start to connect an account an hour',
    integer(1, 1_000_000),
  ),
  bodyBytes: setting('SALLYPORT_BODY_BYTES', '262144', 'The largest request body', integer(1024, 104_857_600)),
  bodiesInFlightBytes: setting(
    'SALLYPORT_BODIES_IN_FLIGHT_BYTES',
    '536870912',
    'The most that all request bodies may take at once, in each process; a quarter of it without a credential',
    integer(1024, 100_000_000_000),
  ),
  bodiesInFlightPerCallerBytes: setting(
    'SALLYPORT_BODIES_IN_FLIGHT_PER_CALLER_BYTES',
    '67108864',
    'The same for one agent, user or device',
    integer(1024, 100_000_000_000),
  ),
  refusalRecordsPerMinute: setting(
    'SALLYPORT_REFUSAL_RECORDS_PER_MINUTE',
    '20',
    'Refused calls recorded one by one, per agent and code; then counted',
    integer(1, 10_000),
  ),
  rowsReadPerSecond: setting(
    'SALLYPORT_ROWS_READ_PER_SECOND',
    '20000',
    'Rows that lists may read for one agent, user or address, in each process; 0 for no limit',
    integer(0, 1_000_000_000),
  ),
  auditRetentionDays: setting(
    'SALLYPORT_AUDIT_RETENTION_DAYS',
    null,
    'How long the record is kept; by default for good',
    optional(integer(1, 36_500)),
  ),
  diskFloorBytes: setting(
    'SALLYPORT_DISK_FLOOR_BYTES',
    '67108864',
    "Free space on SQLite's disk below which only reading, revoking and disabling work; strangers stop at four times as much",
    integer(0, 999_999_999_999),
  ),
  unapprovedBytesPerAgentDay: setting(
    'SALLYPORT_UNAPPROVED_BYTES_PER_AGENT_DAY',
    '8388608',
    'What one agent may have stored a day by sandbox calls and refusals',
    integer(65_536, 1_000_000_000_000),
  ),
  unapprovedBytesPerDay: setting(
    'SALLYPORT_UNAPPROVED_BYTES_PER_DAY',
    '268435456',
    'The same for all agents together',
    integer(1_048_576, 1_000_000_000_000),
  ),
  ...listenerSettings,
  ...proxySettings,
  ...sandboxSettings,
  ...loginSettings,
  ...pushSettings,
  ...deviceSettings,
  ...legacyV1Settings,
}

/** Settings that hold a secret: each may also come as NAME_FILE (a path) or NAME_COMMAND (what it prints). */
export const secretSettings = {
  databaseUrl: {
    name: 'DATABASE_URL',
    fallback: 'SQLite in the data directory',
    meaning: 'postgres://… for PostgreSQL',
  },
  adminToken: {
    name: 'SALLYPORT_ADMIN_TOKEN',
    fallback: 'made on first start',
    meaning: "The operator's token: 32 or more visible characters",
  },
  metricsToken: {
    name: 'SALLYPORT_METRICS_TOKEN',
    fallback: 'none',
    meaning: 'A token that reads /metrics and nothing else: 32 or more visible characters',
  },
  masterKey: {
    name: 'SALLYPORT_MASTER_KEY',
    fallback: 'made on first start',
    meaning: '32 bytes in base64 or hex; several, separated by commas, while keys rotate: the first one seals',
  },
  ...loginSecretSettings,
  ...pushSecretSettings,
} as const

type Plain = { [Key in keyof typeof settings]: ReturnType<(typeof settings)[Key]['parse']> }
type Sources = { [Key in keyof typeof secretSettings]: SecretSource }
export type Config = Readonly<Omit<Plain, 'baseUrl'> & Sources & { baseUrl: URL }>

export function readConfig(env: Environment): Config {
  const problems: string[] = []
  const attempt = <T>(read: () => T): T => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      problems.push(...error.problems)
      return undefined as T
    }
  }
  const entries = Object.entries<Setting<unknown>>(settings).map(([key, one]) => [
    key,
    attempt(() => readSetting(one, env)),
  ])
  const secrets = Object.entries(secretSettings).map(([key, { name }]) => [key, attempt(() => readSecret(name, env))])
  const plain = Object.fromEntries(entries) as Plain
  const config = { ...plain, ...(Object.fromEntries(secrets) as Sources) }
  if (problems.length === 0) problems.push(...contradictions(config))
  if (problems.length > 0) throw new ConfigError(problems)
  return { ...config, baseUrl: config.baseUrl ?? defaultBaseUrl(config) }
}

/** Names that look like ours but are none: most likely a misspelling. */
export function unknownSettings(env: Environment): string[] {
  const plain = Object.values(settings).map(({ name }) => name)
  const secret = Object.values(secretSettings).flatMap(({ name }) => [name, `${name}_FILE`, `${name}_COMMAND`])
  const known = new Set([...plain, ...secret])
  return Object.keys(env).filter((name) => name.startsWith('SALLYPORT_') && !known.has(name))
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))
}

export const adminTokenForm = '32 or more visible ASCII characters without spaces'

export function isAdminToken(token: Secret): boolean {
  return /^[\x21-\x7e]{32,}$/.test(token.reveal())
}

function contradictions(config: Plain & Sources): string[] {
  const problems: string[] = []
  const { databaseUrl, adminToken, masterKey } = config
  const servesTls = config.tlsCertFile !== undefined
  if (servesTls !== (config.tlsKeyFile !== undefined)) {
    problems.push('SALLYPORT_TLS_CERT_FILE and SALLYPORT_TLS_KEY_FILE go together; one of them is missing.')
  }
  if (config.baseUrl === undefined && !standsInLinks(config.host)) {
    problems.push('SALLYPORT_BASE_URL is needed when HOST is every address, or one with a zone: links must name one.')
    return problems
  }
  const base = config.baseUrl ?? defaultBaseUrl(config)
  if (servesTls && base.protocol !== 'https:') {
    problems.push(`SALLYPORT_BASE_URL: got "${base.origin}"; takes an https URL when SALLYPORT_TLS_CERT_FILE is set.`)
  }
  if (!servesTls && base.protocol === 'http:' && !isLoopback(config.host)) {
    problems.push(
      `HOST: got "${config.host}"; takes a loopback address while the base URL is http. ` +
        'Set SALLYPORT_TLS_CERT_FILE and SALLYPORT_TLS_KEY_FILE, or an https SALLYPORT_BASE_URL with a TLS proxy in front.',
    )
  }
  if (config.egressCaFile !== undefined && config.egressAllow.length === 0) {
    problems.push('SALLYPORT_EGRESS_CA_FILE is trusted for what SALLYPORT_EGRESS_ALLOW lists, and that lists nothing.')
  }
  if (config.metricsPort === config.port) {
    problems.push(`SALLYPORT_METRICS_PORT: got "${config.metricsPort}"; takes another port than PORT.`)
  }
  if (config.metricsPort !== undefined && !isLoopback(config.host) && !config.metricsToken.isSet) {
    problems.push('SALLYPORT_METRICS_TOKEN is needed where SALLYPORT_METRICS_PORT can be reached from other machines.')
  }
  if (config.requestTimeoutSeconds < config.headersTimeoutSeconds) {
    problems.push(
      `SALLYPORT_REQUEST_TIMEOUT_SECONDS: got "${config.requestTimeoutSeconds}"; takes no less than SALLYPORT_HEADERS_TIMEOUT_SECONDS.`,
    )
  }
  if (databaseUrl.isSet && !isPostgresUrl(databaseUrl.read()?.reveal() ?? '')) {
    problems.push('DATABASE_URL takes a URL that starts with postgres://, such as postgres://user@host/name.')
  }
  for (const secret of [adminToken, masterKey]) {
    // Two instances on one database must not each make their own.
    if (databaseUrl.isSet && !secret.isSet) problems.push(`${secret.name} must be given together with DATABASE_URL.`)
  }
  for (const token of [adminToken, config.metricsToken]) {
    const given = token.read()
    if (given && !isAdminToken(given)) problems.push(`${token.name} takes ${adminTokenForm}.`)
  }
  problems.push(...masterKeyProblems(masterKey), ...loginContradictions(config), ...pushContradictions(config))
  return problems
}

/** Every address is none that a link could lead to, and a zone means something on this machine only. */
function standsInLinks(host: string): boolean {
  return isIP(host) === 0 || !/^[0:.]+$|%/.test(host)
}

/** Judged here, because whoever fails to parse it later would print it. */
function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text)
}

function masterKeyProblems(source: SecretSource): string[] {
  const value = source.isSet ? source.read() : undefined
  if (value === undefined) return []
  try {
    parseMasterKeys(value)
    return []
  } catch {
    return ['SALLYPORT_MASTER_KEY takes 32 bytes in base64 or hex, or several such keys separated by commas.']
  }
}

function defaultBaseUrl(config: { host: string; port: number; tlsCertFile: string | undefined }): URL {
  const host = isLoopback(config.host) ? 'localhost' : isIP(config.host) === 6 ? `[${config.host}]` : config.host
  return new URL(`${config.tlsCertFile === undefined ? 'http' : 'https'}://${host}:${config.port}`)
}
