import type { Migration } from '../platform/database/migrate.ts'

/** Sessions that the link of a local start began. They may act as the operator there. */
export const operatorSessions: Migration = {
  number: 20,
  name: 'operator sessions',
  statements: ({ number }) => [
    `alter table login_tokens add column is_operator ${number} not null default 0`,
    `alter table sessions add column is_operator ${number} not null default 0`,
  ],
}
