import type { Migration } from '../platform/database/migrate.ts'

/** Deleting an agent looks for what refers to it. */
export const unusedAgents: Migration = {
  number: 14,
  name: 'unused agents',
  statements: () => [
    `create index callbacks_by_agent on callbacks (agent_id)`,
    `create index muted_agents_by_agent on muted_agents (agent_id)`,
    `create index providers_by_proposer on providers (proposed_by) where proposed_by is not null`,
  ],
}
