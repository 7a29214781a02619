import type { Migration } from '../platform/database/migrate.ts'

/**
 * Increases with each change of a grant's terms. It is in the row that every call updates, so that a call is counted only
 * while the terms are those that it was judged by.
 */
export const termsVersions: Migration = {
  number: 21,
  name: 'terms versions',
  statements: ({ number }) => [`alter table grant_usage add column terms_version ${number} not null default 1`],
}
