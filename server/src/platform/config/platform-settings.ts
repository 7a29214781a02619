/** The platform's own settings: listening, database, keys, outgoing connections, push, logs and limits. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { pushContradictions, pushSecretSettings, pushSettings } from '../push/push-settings.ts'
import { asksForWritable, urlsOfHosts } from '../database/postgres-urls.ts'
import { egressContradictions, egressSecretSettings, egressSettings } from '../egress/egress-settings.ts'
import { Secret } from '../secret.ts'
import { mailContradictions, mailSecretSettings, mailSettings } from '../mail/mail-settings.ts'
import { otlpContradictions, otlpSecretSettings, otlpSettings } from '../telemetry/otlp-settings.ts'
import { parseMasterKeys } from '../vault/master-keys.ts'
import { transitContradictions, transitSecretSettings, transitSettings } from '../vault/transit-settings.ts'
import { addresses, addressOrName, baseUrl, flag } from './settings.ts'
import { integer, oneOf, optional, origins, portOrOff, setting, text } from './settings.ts'
import type { SecretSource, ValuesOf } from './settings.ts'

export const platformSettings = {
  HOST: setting('127.0.0.1', 'The address to listen on', addressOrName),
  PORT: setting('8787', 'The port to listen on', integer(1, 65_535)),
  SALLYPORT_BASE_URL: setting(
    null,
    'The public URL of the service, used in links (default: from HOST and PORT)',
    optional(baseUrl),
  ),
  SALLYPORT_GATEWAY_PORT: setting(
    null,
    'The port of the gateway, which tools use as an https proxy, or off (default: 8788, if it is free)',
    optional(portOrOff),
  ),
  SALLYPORT_GATEWAY_HOST: setting(
    '127.0.0.1',
    'The address that the gateway listens on; beyond loopback it serves TLS with the same certificate',
    addressOrName,
  ),
  SALLYPORT_DATA_DIR: setting('./data', 'Directory of the database and the keys, mode 0700', (value) =>
    resolve(text(value)),
  ),
  SALLYPORT_DATABASE_INSECURE: setting('0', '1 allows a database on another machine without verified TLS', flag),
  SALLYPORT_DATABASE_CONNECTIONS: setting(
    '8',
    'PostgreSQL: connections for transactions in each process; three more serve calls and health checks',
    integer(1, 1_000),
  ),
  SALLYPORT_TLS_CERT_FILE: setting(null, 'PEM certificate chain, to serve https directly', optional(text)),
  SALLYPORT_TLS_KEY_FILE: setting(null, 'Private key of the certificate', optional(text)),
  SALLYPORT_TRUST_PROXY: setting(
    null,
    'Addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted, separated by commas',
    optional(addresses),
  ),
  ...egressSettings,
  ...transitSettings,
  SALLYPORT_CORS_ORIGINS: setting(
    null,
    'Origins whose pages may call the API with a bearer token, separated by commas',
    origins,
  ),
  SALLYPORT_METRICS_PORT: setting(
    null,
    'Serve /metrics on this port of HOST instead; needs no token unless SALLYPORT_METRICS_TOKEN is set',
    optional(integer(1, 65_535)),
  ),
  SALLYPORT_WORKERS: setting('1', 'Processes that share the port', integer(1, 64)),
  SALLYPORT_WORKER_STUCK_SECONDS: setting(
    '30',
    'After how long without a sign of life a worker is killed and replaced; 0 for never',
    integer(0, 3600),
  ),
  SALLYPORT_LOG_LEVEL: setting('info', 'Minimum log level', oneOf('debug', 'info', 'warn', 'error', 'silent')),
  SALLYPORT_LOG_FORMAT: setting('auto', 'json, text, or auto: text on a terminal', oneOf('auto', 'json', 'text')),
  SALLYPORT_BODY_BYTES: setting('262144', 'Maximum request body size', integer(1024, 104_857_600)),
  SALLYPORT_BODIES_IN_FLIGHT_BYTES: setting(
    '536870912',
    'Maximum total size of request bodies in memory, in each process; a quarter of it for requests without a credential',
    integer(1024, 100_000_000_000),
  ),
  SALLYPORT_BODIES_IN_FLIGHT_PER_CALLER_BYTES: setting(
    '67108864',
    'The same for one caller with a credential',
    integer(1024, 100_000_000_000),
  ),
  SALLYPORT_ROWS_READ_PER_SECOND: setting(
    '20000',
    'Rows that lists can read per second for one caller or address, in each process; 0 for no limit',
    integer(0, 1_000_000_000),
  ),
  SALLYPORT_DISK_FLOOR_BYTES: setting(
    '67108864',
    "Free space on SQLite's disk below which only reading, revoking and disabling work; unapproved requests that store data stop at four times as much",
    integer(0, 999_999_999_999),
  ),

  SALLYPORT_HEADERS_TIMEOUT_SECONDS: setting('10', 'Timeout for receiving request headers', integer(1, 300)),
  SALLYPORT_REQUEST_TIMEOUT_SECONDS: setting(
    '60',
    'Timeout for receiving a whole request, or what is read of a streamed one before it is passed on',
    integer(1, 3600),
  ),
  SALLYPORT_CONNECTION_IDLE_SECONDS: setting(
    '660',
    'Idle timeout of a connection while a request is being processed',
    integer(1, 3600),
  ),
  SALLYPORT_UNREAD_ANSWER_SECONDS: setting(
    '60',
    'How long a client can stop reading a response before its connection is closed',
    integer(1, 3600),
  ),
  SALLYPORT_STOP_SECONDS: setting('10', 'How long calls in flight can continue after a stop signal', integer(0, 300)),
  SALLYPORT_KEEP_ALIVE_SECONDS: setting(
    '65',
    'Keep-alive timeout of idle connections; set it longer than that of a load balancer in front',
    integer(1, 3600),
  ),
  SALLYPORT_DRAIN_SECONDS: setting(
    null,
    'How long the service keeps serving after a stop signal, while /readyz returns 503 (default: 5 with SALLYPORT_TRUST_PROXY, otherwise 0)',
    optional(integer(0, 300)),
  ),
  ...pushSettings,
  ...mailSettings,
  ...otlpSettings,
}

export const platformSecretSettings = {
  DATABASE_URL: {
    fallback: 'SQLite in the data directory',
    meaning: 'postgres://… for PostgreSQL; several hosts, separated by commas, for failover',
  },
  SALLYPORT_ADMIN_TOKEN: {
    fallback: 'generated on first start',
    meaning: 'The admin token: 32 or more visible characters; while it is changed, new,old',
  },
  SALLYPORT_METRICS_TOKEN: {
    fallback: 'none',
    meaning: 'A token that can only read /metrics: 32 or more visible characters',
  },
  SALLYPORT_MASTER_KEY: {
    fallback: 'generated on first start',
    meaning: '32 bytes in base64 or hex; several, separated by commas, during rotation: the first one encrypts',
  },
  ...transitSecretSettings,
  ...egressSecretSettings,
  ...pushSecretSettings,
  ...mailSecretSettings,
  ...otlpSecretSettings,
} as const

type Values = ValuesOf<typeof platformSettings, typeof platformSecretSettings>
export type PlatformConfig = Readonly<Omit<Values, 'baseUrl'> & { baseUrl: URL }>

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))
}

export const adminTokenForm = '32 or more visible ASCII characters without spaces'

export function isAdminToken(token: Secret): boolean {
  return /^[\x21-\x7e]{32,}$/.test(token.reveal())
}

/** While it is changed there are two, as `new,old`. A comma that is part of one token leaves a part that is too short. */
export function adminTokensIn(given: Secret): Secret[] {
  const parts = given
    .reveal()
    .split(',')
    .map((part) => new Secret(part))
  return parts.every(isAdminToken) ? parts : [given]
}

/** What is wrong with settings that are each valid by themselves. */
export function platformContradictions(config: Values): string[] {
  const problems: string[] = []
  const { databaseUrl, adminToken, masterKey } = config
  const servesTls = config.tlsCertFile !== undefined
  if (servesTls !== (config.tlsKeyFile !== undefined)) {
    problems.push('SALLYPORT_TLS_CERT_FILE and SALLYPORT_TLS_KEY_FILE must be set together; one of them is missing.')
  }
  if (config.baseUrl === undefined && !standsInLinks(config.host)) {
    problems.push(
      'SALLYPORT_BASE_URL is required when HOST is a wildcard address or has a zone, because links need a host.',
    )
    return problems
  }
  const base = config.baseUrl ?? defaultBaseUrl(config)
  if (servesTls && base.protocol !== 'https:') {
    problems.push(
      `SALLYPORT_BASE_URL: got "${base.origin}"; expected an https URL when SALLYPORT_TLS_CERT_FILE is set.`,
    )
  }
  if (!servesTls && base.protocol === 'http:' && !isLoopback(config.host)) {
    problems.push(
      `HOST: got "${config.host}"; expected a loopback address while the base URL is http. ` +
        'Set SALLYPORT_TLS_CERT_FILE and SALLYPORT_TLS_KEY_FILE, or an https SALLYPORT_BASE_URL with a TLS proxy in front.',
    )
  }
  problems.push(...egressContradictions(config))
  if (config.metricsPort === config.port) {
    problems.push(`SALLYPORT_METRICS_PORT: got "${config.metricsPort}"; expected a different port than PORT.`)
  }
  if (config.gatewayPort !== undefined && [config.port, config.metricsPort].includes(config.gatewayPort as number)) {
    problems.push(
      `SALLYPORT_GATEWAY_PORT: got "${config.gatewayPort}"; expected a different port than PORT and SALLYPORT_METRICS_PORT.`,
    )
  }
  if (config.gatewayPort !== 'off' && !isLoopback(config.gatewayHost) && !servesTls) {
    problems.push(
      `SALLYPORT_GATEWAY_HOST: got "${config.gatewayHost}"; expected a loopback address while SALLYPORT_TLS_CERT_FILE is not set, ` +
        'because tools send their keys to it.',
    )
  }
  if (config.metricsPort !== undefined && !isLoopback(config.host) && !config.metricsToken.isSet) {
    problems.push(
      'SALLYPORT_METRICS_TOKEN is required because SALLYPORT_METRICS_PORT can be reached from other machines.',
    )
  }
  if (config.requestTimeoutSeconds < config.headersTimeoutSeconds) {
    problems.push(
      `SALLYPORT_REQUEST_TIMEOUT_SECONDS: got "${config.requestTimeoutSeconds}"; expected at least SALLYPORT_HEADERS_TIMEOUT_SECONDS.`,
    )
  }
  if (databaseUrl.isSet) problems.push(...databaseUrlProblems(databaseUrl.read()?.reveal() ?? ''))
  for (const secret of [adminToken, masterKey]) {
    // Instances that share a database must not each create their own.
    if (databaseUrl.isSet && !secret.isSet) problems.push(`${secret.name} must be set together with DATABASE_URL.`)
  }
  for (const token of [adminToken, config.metricsToken]) {
    const given = token.read()
    if (given && !isAdminToken(given)) problems.push(`${token.name} must be ${adminTokenForm}.`)
  }
  if (!config.masterKeyVault) problems.push(...masterKeyProblems(masterKey))
  problems.push(...transitContradictions(config), ...pushContradictions(config))
  problems.push(...mailContradictions(config), ...otlpContradictions(config))
  return problems
}

/** False for the unspecified addresses (0.0.0.0, ::) and for addresses with a zone: links can't use them. */
function standsInLinks(host: string): boolean {
  return isIP(host) === 0 || !/^[0:.]+$|%/.test(host)
}

/** Checked here, because a parser's error would print the URL with its password. */
function databaseUrlProblems(text: string): string[] {
  if (!isPostgresUrl(text)) {
    return [
      'DATABASE_URL must be a URL that starts with postgres://, such as postgres://user@host/name or postgres://user@one:5432,two:5432/name.',
    ]
  }
  if (asksForWritable(text)) return []
  return ['DATABASE_URL: target_session_attrs must be read-write or primary, because the service writes.']
}

function isPostgresUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\//.test(text)) return false
  try {
    return urlsOfHosts(text).length > 0
  } catch {
    return false
  }
}

function masterKeyProblems(source: SecretSource): string[] {
  const value = source.isSet ? source.read() : undefined
  if (value === undefined) return []
  try {
    parseMasterKeys(value)
    return []
  } catch {
    return ['SALLYPORT_MASTER_KEY must be 32 bytes in base64 or hex, or several such keys separated by commas.']
  }
}

export function defaultBaseUrl(config: { host: string; port: number; tlsCertFile: string | undefined }): URL {
  const host = isLoopback(config.host) ? 'localhost' : isIP(config.host) === 6 ? `[${config.host}]` : config.host
  return new URL(`${config.tlsCertFile === undefined ? 'http' : 'https'}://${host}:${config.port}`)
}
