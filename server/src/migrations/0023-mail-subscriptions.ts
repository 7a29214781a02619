import type { Migration } from '../platform/database/migrate.ts'

/** Users who want e-mail, up to where they have been told, and when to look for news again. */
export const mailSubscriptions: Migration = {
  number: 23,
  name: 'mail subscriptions',
  runsFrom: 21,
  statements: ({ number, strict }) => [
    `create table mail_subscriptions (
      user_id text primary key references users,
      requests_after ${number} not null,
      refusals_after ${number} not null,
      refusals_due ${number} not null,
      attempts ${number} not null,
      attempt_after ${number} not null
    )${strict}`,
    `create index mail_subscriptions_by_time on mail_subscriptions (attempt_after)`,
  ],
}
