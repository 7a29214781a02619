/** The settings of the service's features, in the order of its folders. */
import { integer, names, oneOf, optional, setting } from '../platform/config/settings.ts'

export const serviceSettings = {
  // Agents and proposed providers
  SALLYPORT_REGISTRATIONS_PER_MINUTE: setting(
    '10',
    'Agents that one address (IPv6: one /64) can register per minute',
    integer(1, 1_000_000),
  ),
  SALLYPORT_REGISTRATIONS_PER_DAY: setting('100', 'The same per day', integer(1, 1_000_000)),
  SALLYPORT_REGISTRATIONS_PER_DAY_48: setting(
    '1000',
    'Agents that one IPv6 /48 can register per day',
    integer(1, 1_000_000),
  ),
  SALLYPORT_TOKEN_ROTATIONS_PER_HOUR: setting(
    '60',
    'How often one agent can rotate its token per hour',
    integer(1, 1_000_000),
  ),
  SALLYPORT_PROPOSALS: setting(
    'auto',
    'Providers that agents propose: auto registers a client with them, review leaves that to an administrator, off refuses them',
    oneOf('auto', 'review', 'off'),
  ),
  SALLYPORT_PROPOSALS_PER_DAY: setting('10', 'Providers that one agent can propose per day', integer(1, 1_000_000)),
  SALLYPORT_PROPOSALS_PER_DAY_IN_ALL: setting('50', 'The same for all agents together', integer(1, 1_000_000)),
  SALLYPORT_TRACEPARENT_PROVIDERS: setting(
    '',
    'Slugs of verified providers whose APIs get a traceparent header while telemetry is exported, separated by commas',
    names,
  ),
  SALLYPORT_USER_PRESETS: setting(
    'on',
    'Whether users can connect accounts by key at presets that no administrator has added yet',
    oneOf('on', 'off'),
  ),

  // Sessions, devices and connections
  SALLYPORT_LOGIN_TOKEN_SECONDS: setting('900', 'Lifetime of a login token', integer(1, 86_400)),
  SALLYPORT_SESSION_IDLE_SECONDS: setting('43200', 'Idle timeout of a session', integer(60, 31_536_000)),
  SALLYPORT_SESSION_SECONDS: setting('604800', 'Maximum lifetime of a session', integer(60, 31_536_000)),
  SALLYPORT_PAIRING_CODE_SECONDS: setting('600', 'Lifetime of a pairing code', integer(1, 86_400)),
  SALLYPORT_PAIRING_CODES_PER_HOUR: setting(
    '20',
    'Pairing codes that one user can create per hour',
    integer(1, 1_000_000),
  ),
  SALLYPORT_PAIRING_TRIES_PER_MINUTE: setting(
    '5',
    'Wrong pairing codes that one address (IPv6: one /64) can send per minute',
    integer(1, 1_000_000),
  ),
  SALLYPORT_CHALLENGE_SECONDS: setting('120', 'Lifetime of a challenge that a device has to sign', integer(1, 3600)),
  SALLYPORT_CHALLENGES_PER_MINUTE: setting(
    '60',
    'Challenges that one device can request per minute',
    integer(1, 1_000_000),
  ),
  SALLYPORT_CONNECTS_PER_HOUR: setting(
    '60',
    'How often one user can start connecting an account per hour',
    integer(1, 1_000_000),
  ),

  // Access requests
  SALLYPORT_ACCESS_REQUESTS_PENDING: setting('20', 'Pending access requests per agent', integer(1, 1_000_000)),
  SALLYPORT_ACCESS_REQUESTS_PER_HOUR: setting(
    '30',
    'Access requests that one agent can create per hour',
    integer(1, 1_000_000),
  ),

  // Proxied calls
  SALLYPORT_PROXY_BODY_BYTES: setting('10485760', 'Maximum body size of a proxy call', integer(1024, 104_857_600)),
  SALLYPORT_PROXY_ANSWER_BYTES: setting(
    '10485760',
    'Maximum size of a buffered response; larger ones have to be streamed',
    integer(1024, 104_857_600),
  ),
  SALLYPORT_PROXY_UNSENT_BYTES_PER_AGENT: setting(
    '50331648',
    'Maximum size of buffered responses not yet sent to one agent, in each process',
    integer(1024, 100_000_000_000),
  ),
  SALLYPORT_PROXY_UNSENT_BYTES: setting(
    '268435456',
    'The same for all agents together; a quarter of it for the sandbox',
    integer(1024, 100_000_000_000),
  ),
  SALLYPORT_PROXY_FIRST_BYTE_SECONDS: setting(
    '30',
    'Timeout until the first byte of an upstream response, unless the call sets timeout_ms',
    integer(1, 300),
  ),
  SALLYPORT_PROXY_CALL_SECONDS: setting('60', 'Timeout of a whole call, unless it sets timeout_ms', integer(1, 300)),
  SALLYPORT_PROXY_IDLE_SECONDS: setting('60', 'Idle timeout of a streamed response or request body', integer(1, 3600)),
  SALLYPORT_PROXY_RATE_PER_AGENT: setting(
    '20',
    'Calls per second for one agent; 0 for no limit',
    integer(0, 1_000_000),
  ),
  SALLYPORT_PROXY_BURST_PER_AGENT: setting('200', 'Calls that one agent can make in a burst', integer(1, 1_000_000)),
  SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: setting(
    '50',
    'Concurrent calls of one agent, in each process; 0 for no limit',
    integer(0, 1_000_000),
  ),

  // Calls of tools
  SALLYPORT_TOOL_FIRST_BYTE_SECONDS: setting(
    '600',
    'How long a call at a base URL or in a tunnel waits for the first byte of its response',
    integer(1, 3600),
  ),
  SALLYPORT_TOOL_IDLE_SECONDS: setting('120', 'Idle timeout of such a call', integer(1, 3600)),
  SALLYPORT_TOOL_HOLD_SECONDS: setting(
    '50',
    'How long such a call is kept open for a person to approve it; afterwards it is 503 until it is repeated',
    integer(0, 300),
  ),
  SALLYPORT_TOOL_RATE_WAIT_SECONDS: setting(
    '30',
    'How long such a call waits if its agent is over its rate; afterwards it is 429',
    integer(0, 300),
  ),

  SALLYPORT_HELD_CALL_SECONDS: setting(
    '3600',
    'How long a call waits for a person to approve or deny it',
    integer(1, 43_200),
  ),

  // The sandbox
  SALLYPORT_SANDBOX_SECONDS: setting('3600', 'How long a sandbox grant lasts', integer(1, 86_400)),
  SALLYPORT_SANDBOX_STARTS_PER_HOUR: setting(
    '60',
    'Sandboxes that one agent can start per hour',
    integer(1, 1_000_000),
  ),
  SALLYPORT_SANDBOX_CALLS_PER_SECOND: setting('5', 'Sandbox calls per second for one agent', integer(1, 1000)),
  SALLYPORT_SANDBOX_BURST: setting('20', 'Sandbox calls that may come at once', integer(1, 10_000)),
  SALLYPORT_SANDBOX_BODY_BYTES: setting(
    '65536',
    'Maximum body size of a call to the echo endpoint',
    integer(1, 10_485_760),
  ),
  SALLYPORT_SANDBOX_RETENTION_DAYS: setting(
    '7',
    'How long what no user approved is kept: records of sandbox calls, of refusals and of agents without a grant, and access requests that ended without one',
    integer(1, 36_500),
  ),

  SALLYPORT_UNAPPROVED_AGENT_DAYS: setting(
    '30',
    'Days after which an agent is deleted that no user has approved and that has no access request, sandbox or proposed provider',
    integer(1, 36_500),
  ),

  // The audit log
  SALLYPORT_REFUSAL_RECORDS_PER_MINUTE: setting(
    '20',
    'Refused calls recorded individually per agent and code; beyond that they are counted',
    integer(1, 10_000),
  ),
  SALLYPORT_AUDIT_RETENTION_DAYS: setting(
    null,
    'How long audit records are kept (default: forever)',
    optional(integer(1, 36_500)),
  ),
  SALLYPORT_UNAPPROVED_REQUESTS_PER_SECOND: setting(
    '20',
    'API requests per second of all agents without an approved call and callers without a credential, while the service is busy, in each process; 0 for no limit',
    integer(0, 1_000_000),
  ),
  SALLYPORT_UNAPPROVED_BYTES_PER_AGENT_DAY: setting(
    '8388608',
    'Bytes that an agent that no user has approved can have stored per day: three quarters for sandbox calls and refusals, a quarter for everything else',
    integer(65_536, 1_000_000_000_000),
  ),
  SALLYPORT_UNAPPROVED_BYTES_PER_ADDRESS_DAY: setting(
    '33554432',
    'The same for all such agents, and callers without a credential, at one address (IPv6: one /64; four times as much for a /48)',
    integer(65_536, 1_000_000_000_000),
  ),
  SALLYPORT_UNAPPROVED_BYTES_PER_DAY: setting(
    '268435456',
    'The same for all of them together',
    integer(1_048_576, 1_000_000_000_000),
  ),
}
