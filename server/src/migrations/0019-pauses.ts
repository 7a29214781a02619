import type { Migration } from '../platform/database/migrate.ts'

/** While there is a row, no agent makes calls: of that user, or of all users if `scope` is `service`. */
export const pauses: Migration = {
  number: 19,
  name: 'pauses',
  statements: ({ number, strict }, engine) => [
    `create table pauses (
      scope text primary key,
      paused_at ${number} not null
    )${strict}`,
    ...(engine === 'sqlite' ? [] : [watched]),
  ],
}

/** As in migration 7, but also rows that are inserted. */
const watched = `create constraint trigger pauses_changed
  after insert or delete or update on pauses
  deferrable initially deferred for each row execute function note_authority_change()`
