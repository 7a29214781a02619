/** The settings of the service's features, in the order of its folders. */
import { integer, oneOf, optional, setting } from '../platform/config/settings.ts'

export const serviceSettings = {
  // Agents and proposed providers
  registrationsPerMinute: setting(
    'SALLYPORT_REGISTRATIONS_PER_MINUTE',
    '10',
    'Agents that one address (IPv6: one /64) can register per minute',
    integer(1, 1_000_000),
  ),
  registrationsPerDay: setting('SALLYPORT_REGISTRATIONS_PER_DAY', '100', 'The same per day', integer(1, 1_000_000)),
  registrationsPerDayWide: setting(
    'SALLYPORT_REGISTRATIONS_PER_DAY_48',
    '1000',
    'Agents that one IPv6 /48 can register per day',
    integer(1, 1_000_000),
  ),
  tokenRotationsPerHour: setting(
    'SALLYPORT_TOKEN_ROTATIONS_PER_HOUR',
    '60',
    'How often one agent can rotate its token per hour',
    integer(1, 1_000_000),
  ),
  proposals: setting(
    'SALLYPORT_PROPOSALS',
    'auto',
    'Providers that agents propose: auto registers a client with them, review leaves that to an administrator, off refuses them',
    oneOf('auto', 'review', 'off'),
  ),
  proposalsPerDay: setting(
    'SALLYPORT_PROPOSALS_PER_DAY',
    '10',
    'Providers that one agent can propose per day',
    integer(1, 1_000_000),
  ),
  proposalsPerDayInAll: setting(
    'SALLYPORT_PROPOSALS_PER_DAY_IN_ALL',
    '50',
    'The same for all agents together',
    integer(1, 1_000_000),
  ),

  // Sessions, devices and connections
  loginTokenSeconds: setting('SALLYPORT_LOGIN_TOKEN_SECONDS', '900', 'Lifetime of a login token', integer(1, 86_400)),
  sessionIdleSeconds: setting(
    'SALLYPORT_SESSION_IDLE_SECONDS',
    '43200',
    'Idle timeout of a session',
    integer(60, 31_536_000),
  ),
  sessionSeconds: setting(
    'SALLYPORT_SESSION_SECONDS',
    '604800',
    'Maximum lifetime of a session',
    integer(60, 31_536_000),
  ),
  pairingCodeSeconds: setting(
    'SALLYPORT_PAIRING_CODE_SECONDS',
    '600',
    'Lifetime of a pairing code',
    integer(1, 86_400),
  ),
  pairingCodesPerHour: setting(
    'SALLYPORT_PAIRING_CODES_PER_HOUR',
    '20',
    'Pairing codes that one user can create per hour',
    integer(1, 1_000_000),
  ),
  pairingTriesPerMinute: setting(
    'SALLYPORT_PAIRING_TRIES_PER_MINUTE',
    '5',
    'Wrong pairing codes that one address (IPv6: one /64) can send per minute',
    integer(1, 1_000_000),
  ),
  challengeSeconds: setting(
    'SALLYPORT_CHALLENGE_SECONDS',
    '120',
    'Lifetime of a challenge that a device has to sign',
    integer(1, 3600),
  ),
  challengesPerMinute: setting(
    'SALLYPORT_CHALLENGES_PER_MINUTE',
    '60',
    'Challenges that one device can request per minute',
    integer(1, 1_000_000),
  ),
  connectsPerHour: setting(
    'SALLYPORT_CONNECTS_PER_HOUR',
    '60',
    'How often one user can start connecting an account per hour',
    integer(1, 1_000_000),
  ),

  // Access requests
  accessRequestsPending: setting(
    'SALLYPORT_ACCESS_REQUESTS_PENDING',
    '20',
    'Pending access requests per agent',
    integer(1, 1_000_000),
  ),
  accessRequestsPerHour: setting(
    'SALLYPORT_ACCESS_REQUESTS_PER_HOUR',
    '30',
    'Access requests that one agent can create per hour',
    integer(1, 1_000_000),
  ),

  // Proxied calls
  proxyBodyBytes: setting(
    'SALLYPORT_PROXY_BODY_BYTES',
    '10485760',
    'Maximum body size of a proxy call',
    integer(1024, 104_857_600),
  ),
  proxyAnswerBytes: setting(
    'SALLYPORT_PROXY_ANSWER_BYTES',
    '10485760',
    'Maximum size of a buffered response; larger ones have to be streamed',
    integer(1024, 104_857_600),
  ),
  proxyUnsentBytesPerAgent: setting(
    'SALLYPORT_PROXY_UNSENT_BYTES_PER_AGENT',
    '50331648',
    'Maximum size of buffered responses not yet sent to one agent, in each process',
    integer(1024, 100_000_000_000),
  ),
  proxyUnsentBytes: setting(
    'SALLYPORT_PROXY_UNSENT_BYTES',
    '268435456',
    'The same for all agents together; a quarter of it for the sandbox',
    integer(1024, 100_000_000_000),
  ),
  proxyFirstByteSeconds: setting(
    'SALLYPORT_PROXY_FIRST_BYTE_SECONDS',
    '30',
    'Timeout until the first byte of an upstream response, unless the call sets timeout_ms',
    integer(1, 300),
  ),
  proxyCallSeconds: setting(
    'SALLYPORT_PROXY_CALL_SECONDS',
    '60',
    'Timeout of a whole call, unless it sets timeout_ms',
    integer(1, 300),
  ),
  proxyIdleSeconds: setting(
    'SALLYPORT_PROXY_IDLE_SECONDS',
    '60',
    'Idle timeout of a streamed response',
    integer(1, 3600),
  ),
  proxyRatePerAgent: setting(
    'SALLYPORT_PROXY_RATE_PER_AGENT',
    '20',
    'Calls per second for one agent; 0 for no limit',
    integer(0, 1_000_000),
  ),
  proxyBurstPerAgent: setting(
    'SALLYPORT_PROXY_BURST_PER_AGENT',
    '200',
    'Calls that one agent can make in a burst',
    integer(1, 1_000_000),
  ),
  proxyInFlightPerAgent: setting(
    'SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT',
    '50',
    'Concurrent calls of one agent, in each process; 0 for no limit',
    integer(0, 1_000_000),
  ),

  // The sandbox
  sandboxSeconds: setting('SALLYPORT_SANDBOX_SECONDS', '3600', 'How long a sandbox grant lasts', integer(1, 86_400)),
  sandboxStartsPerHour: setting(
    'SALLYPORT_SANDBOX_STARTS_PER_HOUR',
    '60',
    'Sandboxes that one agent can start per hour',
    integer(1, 1_000_000),
  ),
  sandboxCallsPerSecond: setting(
    'SALLYPORT_SANDBOX_CALLS_PER_SECOND',
    '5',
    'Sandbox calls per second for one agent',
    integer(1, 1000),
  ),
  sandboxBurst: setting('SALLYPORT_SANDBOX_BURST', '20', 'Sandbox calls that may come at once', integer(1, 10_000)),
  sandboxBodyBytes: setting(
    'SALLYPORT_SANDBOX_BODY_BYTES',
    '65536',
    'Maximum body size of a call to the echo endpoint',
    integer(1, 10_485_760),
  ),
  sandboxRetentionDays: setting(
    'SALLYPORT_SANDBOX_RETENTION_DAYS',
    '7',
    'How long records of sandbox calls, and of refusals without a grant, are kept',
    integer(1, 36_500),
  ),

  // The audit log
  refusalRecordsPerMinute: setting(
    'SALLYPORT_REFUSAL_RECORDS_PER_MINUTE',
    '20',
    'Refused calls recorded individually per agent and code; beyond that they are counted',
    integer(1, 10_000),
  ),
  auditRetentionDays: setting(
    'SALLYPORT_AUDIT_RETENTION_DAYS',
    null,
    'How long audit records are kept (default: forever)',
    optional(integer(1, 36_500)),
  ),
  unapprovedBytesPerAgentDay: setting(
    'SALLYPORT_UNAPPROVED_BYTES_PER_AGENT_DAY',
    '8388608',
    'Bytes that sandbox calls and refusals of one agent can store per day',
    integer(65_536, 1_000_000_000_000),
  ),
  unapprovedBytesPerDay: setting(
    'SALLYPORT_UNAPPROVED_BYTES_PER_DAY',
    '268435456',
    'The same for all agents together',
    integer(1_048_576, 1_000_000_000_000),
  ),
}
