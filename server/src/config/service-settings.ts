/** The settings of what the service does, in the order of its rooms. */
import { integer, oneOf, optional, setting } from '../platform/config/settings.ts'

export const serviceSettings = {
  // Agents and the providers that they propose
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

  // Sessions, devices and connections
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
  pairingCodeSeconds: setting(
    'SALLYPORT_PAIRING_CODE_SECONDS',
    '600',
    'How long a pairing code waits to be used',
    integer(1, 86_400),
  ),
  pairingCodesPerHour: setting(
    'SALLYPORT_PAIRING_CODES_PER_HOUR',
    '20',
    'Pairing codes that one user may ask for an hour',
    integer(1, 1_000_000),
  ),
  pairingTriesPerMinute: setting(
    'SALLYPORT_PAIRING_TRIES_PER_MINUTE',
    '5',
    'Wrong pairing codes that one address (IPv6: one /64) may send a minute',
    integer(1, 1_000_000),
  ),
  challengeSeconds: setting(
    'SALLYPORT_CHALLENGE_SECONDS',
    '120',
    'How long a device may take to sign',
    integer(1, 3600),
  ),
  challengesPerMinute: setting(
    'SALLYPORT_CHALLENGES_PER_MINUTE',
    '60',
    'Challenges that one device may ask for a minute',
    integer(1, 1_000_000),
  ),
  connectsPerHour: setting(
    'SALLYPORT_CONNECTS_PER_HOUR',
    '60',
    'How often one user may start to connect an account an hour',
    integer(1, 1_000_000),
  ),

  // Access requests
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

  // Proxied calls
  proxyBodyBytes: setting(
    'SALLYPORT_PROXY_BODY_BYTES',
    '10485760',
    'The largest body of a proxy call',
    integer(1024, 104_857_600),
  ),
  proxyAnswerBytes: setting(
    'SALLYPORT_PROXY_ANSWER_BYTES',
    '10485760',
    'The largest answer that is handed over whole; larger ones have to be streamed',
    integer(1024, 104_857_600),
  ),
  proxyUnsentBytesPerAgent: setting(
    'SALLYPORT_PROXY_UNSENT_BYTES_PER_AGENT',
    '50331648',
    'The most that whole answers to one agent may take until they are sent, in each process',
    integer(1024, 100_000_000_000),
  ),
  proxyUnsentBytes: setting(
    'SALLYPORT_PROXY_UNSENT_BYTES',
    '268435456',
    'The same for all agents together; a quarter of it in the sandbox',
    integer(1024, 100_000_000_000),
  ),
  proxyFirstByteSeconds: setting(
    'SALLYPORT_PROXY_FIRST_BYTE_SECONDS',
    '30',
    'How long an upstream may take to begin its answer, unless the call says timeout_ms',
    integer(1, 300),
  ),
  proxyCallSeconds: setting(
    'SALLYPORT_PROXY_CALL_SECONDS',
    '60',
    'How long a whole call may take, unless it says timeout_ms',
    integer(1, 300),
  ),
  proxyIdleSeconds: setting(
    'SALLYPORT_PROXY_IDLE_SECONDS',
    '60',
    'How long a streamed answer may be silent',
    integer(1, 3600),
  ),
  proxyRatePerAgent: setting(
    'SALLYPORT_PROXY_RATE_PER_AGENT',
    '20',
    'Calls a second for one agent; 0 for no limit',
    integer(0, 1_000_000),
  ),
  proxyBurstPerAgent: setting(
    'SALLYPORT_PROXY_BURST_PER_AGENT',
    '200',
    'Calls of one agent that may come at once',
    integer(1, 1_000_000),
  ),
  proxyInFlightPerAgent: setting(
    'SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT',
    '50',
    'Calls of one agent that may be under way, in each process; 0 for no limit',
    integer(0, 1_000_000),
  ),

  // The sandbox
  sandboxSeconds: setting('SALLYPORT_SANDBOX_SECONDS', '3600', 'How long a sandbox grant lasts', integer(1, 86_400)),
  sandboxStartsPerHour: setting(
    'SALLYPORT_SANDBOX_STARTS_PER_HOUR',
    '60',
    'Sandboxes that one agent may start an hour',
    integer(1, 1_000_000),
  ),
  sandboxCallsPerSecond: setting(
    'SALLYPORT_SANDBOX_CALLS_PER_SECOND',
    '5',
    'Sandbox calls a second for one agent',
    integer(1, 1000),
  ),
  sandboxBurst: setting('SALLYPORT_SANDBOX_BURST', '20', 'Sandbox calls that may come at once', integer(1, 10_000)),
  sandboxBodyBytes: setting(
    'SALLYPORT_SANDBOX_BODY_BYTES',
    '65536',
    'The largest body that the echo takes',
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
    'Refused calls recorded one by one, per agent and code; then counted',
    integer(1, 10_000),
  ),
  auditRetentionDays: setting(
    'SALLYPORT_AUDIT_RETENTION_DAYS',
    null,
    'How long the record is kept; by default for good',
    optional(integer(1, 36_500)),
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
}
