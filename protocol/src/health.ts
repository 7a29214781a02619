import { Type, type Static } from 'typebox'
import { Nullable, Timestamp } from './schema.ts'

const Outbox = Type.Object({
  waiting: Type.Integer({ description: 'What is not settled yet; counted up to 10 000' }),
  due: Type.Integer({ description: 'What could be tried now and is not under way' }),
  oldest_due_at: Nullable(Timestamp),
})

export const findingLevels = ['well', 'warning', 'wrong'] as const

/** How the service fares, for whoever runs it. */
export const HealthReply = Type.Object({
  version: Type.String({ description: 'Of the service, not of the interface' }),
  started_at: Type.String({ format: 'date-time', description: 'Of the process that answers' }),
  workers: Type.Integer({ description: 'Processes that share this port; other instances are not known' }),
  database: Type.Object({
    engine: Type.Enum(['sqlite', 'postgres']),
    migration: Type.Integer(),
    newest_migration: Type.Integer({ description: 'That this version knows' }),
  }),
  outboxes: Type.Object({ callbacks: Outbox, pushes: Outbox }),
  connections: Type.Object({
    needs_reauth: Type.Integer({ description: 'Whose user has to sign in again; of the newest 20 000 connections' }),
  }),
  providers: Type.Object({ pending_credentials: Type.Integer({ description: 'Proposals that wait for credentials' }) }),
  audit: Type.Object({
    last_head: Nullable(
      Type.Object(
        {
          text: Type.String({ description: 'As `sallyport-server audit verify --head` takes it' }),
          signed_at: Timestamp,
        },
        { description: 'The newest signed head of the newest chain' },
      ),
    ),
  }),
  push: Type.Object(
    { web: Type.Boolean(), apns: Type.Boolean(), fcm: Type.Boolean() },
    { description: 'Which services devices are notified through' },
  ),
  findings: Type.Array(Type.Object({ what: Type.String(), level: Type.Enum(findingLevels), words: Type.String() }), {
    description: 'What `sallyport-server doctor` says of the settings',
  }),
})
export type HealthReply = Static<typeof HealthReply>
