import type { Migration } from '../database/migrate.ts'

/** Up to which entry the journal beside the file of SQLite is in the tables: a crash comes before or after, never between. */
export const callJournal: Migration = {
  number: 9,
  name: 'call journal',
  statements: ({ number, strict }, engine) =>
    engine === 'sqlite'
      ? [
          `create table audit_journals (
            journal text not null,
            number ${number} not null
          )${strict}`,
        ]
      : [],
}
