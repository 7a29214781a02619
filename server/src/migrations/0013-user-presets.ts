import type { Migration } from '../platform/database/migrate.ts'

/** A preset that was a provider before is not created again by a person, whatever its slug was. */
export const userPresets: Migration = {
  number: 13,
  name: 'user presets',
  statements: () => [
    `alter table providers add column former_slug text`,
    `create index providers_by_former_slug on providers (former_slug) where former_slug is not null`,
    `create index providers_by_preset on providers (preset) where preset is not null`,
  ],
}
