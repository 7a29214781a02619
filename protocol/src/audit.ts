import { Type, type Static } from 'typebox'
import { Page, pagingMembers } from './lists.ts'
import { Dictionary, Nullable, RecordId, Strict, Text, Timestamp } from './schema.ts'

/**
 * Audit events. A call's attempt and its outcome are two records with one audit_id. A hop is another request of the
 * same call: a followed redirect, or the retry with a new token.
 */
export const auditEvents = [
  'agent.registered',
  'agent.token_rotated',
  'agent.disabled',
  'agent.enabled',
  'user.disabled',
  'user.enabled',
  'agents.paused',
  'agents.resumed',
  'service.paused',
  'service.resumed',
  'login_token.issued',
  'session.started',
  'session.revoked',
  'provider.created',
  'provider.proposed',
  'provider.updated',
  'provider.credentials_changed',
  'provider.rediscovered',
  'provider.enabled',
  'provider.disabled',
  'provider.deleted',
  'connection.created',
  'connection.renewed',
  'connection.refused',
  'connection.refreshed',
  'connection.needs_reauth',
  'connection.revoked',
  'connection.revoked_remotely',
  'user.created',
  'identity.linked',
  'access_request.created',
  'access_request.approved',
  'access_request.denied',
  'access_request.cancelled',
  'grant.changed',
  'grant.revoked',
  'pairing_code.issued',
  'device.paired',
  'device.enrolled',
  'device.revoked',
  'device_approval.required',
  'device_approval.lifted',
  'device_approval.reset',
  'agent.blocked',
  'agent.unmuted',
  'callback.delivered',
  'callback.failed',
  'sandbox.started',
  'proxy.attempt',
  'proxy.hop',
  'proxy.outcome',
  'proxy.refused',
  'proxy.held',
  'proxy.approved',
  'proxy.denied',
  'proxy.expired',
  'proxy.cancelled',
  'repeat.revoked',
  'tool_key.created',
  'tool_key.revoked',
  'v1.registered',
  'v1.refreshed',
  'v1.key_rotated',
  'v1.saved',
  'v1.read',
  'v1.service_key_rotated',
  'keys.rotated',
  'audit.chain_started',
  'database.restored',
] as const
export type AuditEvent = (typeof auditEvents)[number]

/** Records that belong to an earlier one with the same audit_id and are shown with it. */
export const followUps = ['proxy.hop', 'proxy.outcome'] as const satisfies AuditEvent[]

export const auditOutcomes = ['answered', 'failed', 'refused', 'unknown'] as const
export type AuditOutcome = (typeof auditOutcomes)[number]

/** Where a call came in: `POST /v4/proxy`, a base URL, or the gateway. */
export const callDoors = ['proxy', 'base_url', 'gateway'] as const
export type CallDoor = (typeof callDoors)[number]

const Time = Type.String({ format: 'date-time', maxLength: 40 })
const SearchWords = Text({
  minLength: 1,
  maxLength: 200,
  description: 'Words that must all appear in the method, host and path of a call, as in "POST api.example.com/items"',
})
const Outcome = Type.Enum(auditOutcomes, { description: 'Outcome of a call; unknown: none was recorded' })
const Id = Text({ minLength: 1, maxLength: 100 })
const listedEvents = auditEvents.filter((event) => !(followUps as readonly string[]).includes(event))

const ofWhat = {
  agent_id: Type.Optional(Id),
  grant_id: Type.Optional(Id),
  connection_id: Type.Optional(Id),
  provider: Type.Optional(Text({ minLength: 1, maxLength: 100, description: "The provider's slug" })),
}

export const auditFormats = ['json', 'ndjson', 'csv'] as const
export type AuditFormat = (typeof auditFormats)[number]

export const ListAuditQuery = Strict({
  ...pagingMembers('aud'),
  ...ofWhat,
  q: Type.Optional(SearchWords),
  event: Type.Optional(Type.Enum(listedEvents)),
  outcome: Type.Optional(Outcome),
  since: Type.Optional(Time),
  until: Type.Optional(Time),
  format: Type.Optional(
    Type.Enum(auditFormats, {
      description: 'Overrides Accept: ndjson and csv return all matching records as a file',
    }),
  ),
})
export type ListAuditQuery = Static<typeof ListAuditQuery>

const Facts = Dictionary(Type.Unknown())

export const AuditRecord = Type.Object({
  audit_id: RecordId('aud'),
  event: Type.Enum(listedEvents),
  at: Timestamp,
  request_id: Nullable(Type.String()),
  agent_id: Nullable(Type.String()),
  agent_name: Nullable(Type.String({ description: 'The name the agent registered with; not verified' })),
  user_id: Nullable(Type.String({ description: 'Never shown to an agent' })),
  grant_id: Nullable(Type.String()),
  connection_id: Nullable(Type.String()),
  provider: Nullable(Type.String({ description: "The provider's slug" })),
  door: Nullable(
    Type.Enum(callDoors, {
      description:
        'How a call came in: POST /v4/proxy, a base URL, or the gateway. null: it is not a call, or was refused before that was known',
    }),
  ),
  detail: Facts,
  outcome: Nullable(
    Type.Enum(auditOutcomes, {
      description:
        'Outcome of a call; unknown while it is in progress, and permanently if the service was killed during the call',
    }),
  ),
  concluded_at: Nullable(Timestamp),
  result: Nullable(Facts),
  hops: Type.Array(Type.Object({ at: Timestamp, detail: Facts }), {
    description: 'Follow-up requests of the same call: followed redirects, the retry with a new token',
  }),
})
export type AuditRecord = Static<typeof AuditRecord>

export const AuditPage = Page('records', AuditRecord)
export type AuditPage = Static<typeof AuditPage>

export const maxSeriesBuckets = 100

/** The records that are counted as calls. */
export const callEvents = ['proxy.attempt', 'proxy.refused'] as const satisfies AuditEvent[]

export const AuditSeriesQuery = Strict({
  ...ofWhat,
  q: Type.Optional(SearchWords),
  event: Type.Optional(Type.Enum(callEvents, { description: 'Only calls that were made, or only refused ones' })),
  outcome: Type.Optional(Outcome),
  since: Type.Optional(Type.String({ ...Time, description: 'Default: one day before until' })),
  until: Type.Optional(Type.String({ ...Time, description: 'Default: now; exclusive' })),
  buckets: Type.Optional(
    Type.Integer({ minimum: 1, maximum: maxSeriesBuckets, default: 24, description: 'Number of time buckets' }),
  ),
  by: Type.Optional(Type.Enum(['grant'], { description: 'One series per grant instead of one for all' })),
})
export type AuditSeriesQuery = Static<typeof AuditSeriesQuery>

const Counts = Type.Array(Type.Integer(), { description: 'One count per bucket' })

export const AuditSeries = Type.Object({
  grant_id: Nullable(Type.String({ description: 'null: all grants, or calls without an existing grant' })),
  total: Type.Integer(),
  last_call_at: Nullable(Timestamp),
  answered: Counts,
  answered_errors: Type.Array(Type.Integer(), {
    description: 'How many of `answered` the host answered with a status of 400 or more',
  }),
  failed: Counts,
  refused: Counts,
  unknown: Counts,
})
export type AuditSeries = Static<typeof AuditSeries>

export const AuditSeriesReply = Type.Object({
  since: Timestamp,
  until: Timestamp,
  starts: Type.Array(Timestamp, { description: 'Start of each bucket; it ends where the next one starts' }),
  complete_since: Nullable(
    Type.String({
      format: 'date-time',
      description: 'Counts before this time are incomplete, because there are too many calls; null if all are counted',
    }),
  ),
  series: Type.Array(AuditSeries, { description: 'Most calls first' }),
  omitted: Type.Integer({ description: 'Number of grants with fewer calls that are not in series' }),
})
export type AuditSeriesReply = Static<typeof AuditSeriesReply>

export const AuditKeyReply = Type.Object({
  alg: Type.Literal('EdDSA'),
  jwk: Type.Object({ kty: Type.Literal('OKP'), crv: Type.Literal('Ed25519'), x: Type.String() }),
  pem: Type.String(),
})
export type AuditKeyReply = Static<typeof AuditKeyReply>
