import type { Migration } from '../platform/database/migrate.ts'

/** What users call agents. A name goes with its agent, also if the release before this one deletes that. */
export const agentNames: Migration = {
  number: 22,
  name: 'agent names',
  runsFrom: 21,
  statements: ({ strict }) => [
    `create table agent_names (
      user_id text not null references users,
      agent_id text not null references agents on delete cascade,
      name text not null,
      primary key (user_id, agent_id)
    )${strict}`,
    `create index agent_names_by_agent on agent_names (agent_id)`,
  ],
}
