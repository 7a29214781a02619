import { Type, type Static } from 'typebox'
import { Nullable, Timestamp } from './schema.ts'

const Outbox = Type.Object({
  waiting: Type.Integer({ description: 'Not delivered yet; counted up to 10 000' }),
  due: Type.Integer({ description: 'Due now and not being delivered' }),
  oldest_due_at: Nullable(Timestamp),
})

export const findingLevels = ['well', 'warning', 'wrong'] as const

/** The state of the service, for its operator. */
export const HealthReply = Type.Object({
  version: Type.String({ description: 'Version of the service, not of the API' }),
  started_at: Type.String({ format: 'date-time', description: 'Start time of the responding process' }),
  workers: Type.Integer({ description: 'Number of processes that share this port; other instances are not counted' }),
  database: Type.Object({
    engine: Type.Enum(['sqlite', 'postgres']),
    migration: Type.Integer(),
    newest_migration: Type.Integer({ description: 'The newest migration that this version knows' }),
  }),
  outboxes: Type.Object({ callbacks: Outbox, pushes: Outbox }),
  connections: Type.Object({
    needs_reauth: Type.Integer({ description: 'Connections whose user has to sign in again, among the newest 20 000' }),
  }),
  providers: Type.Object({ pending_credentials: Type.Integer({ description: 'Providers that need credentials' }) }),
  audit: Type.Object({
    last_head: Nullable(
      Type.Object(
        {
          text: Type.String({ description: 'The head for `sallyport-server audit verify --head`' }),
          signed_at: Timestamp,
        },
        { description: 'The newest signed head of the newest chain' },
      ),
    ),
  }),
  push: Type.Object(
    { web: Type.Boolean(), apns: Type.Boolean(), fcm: Type.Boolean() },
    { description: 'Which push services are configured' },
  ),
  findings: Type.Array(Type.Object({ what: Type.String(), level: Type.Enum(findingLevels), words: Type.String() }), {
    description: 'The checks of `sallyport-server doctor` that concern settings',
  }),
})
export type HealthReply = Static<typeof HealthReply>
