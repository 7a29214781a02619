/** Grants grouped by agent, with a search. */
import { useState } from 'react'
import type { Grant } from '@sallyport/sdk'
import { Link } from 'wouter'
import { Field } from '../../ui/field.tsx'
import { Empty, Theirs } from '../../ui/view.tsx'
import { MyName, useAgentNames } from '../agents/my-name.tsx'
import { GrantCard } from './grant-card.tsx'
import { groupByAgent, searchGrants } from './search-grants.ts'

/** Fewer are seen at a glance. */
const manyGrants = 4

export function GrantList({ grants }: { grants: Grant[] }) {
  const [wanted, setWanted] = useState('')
  const names = useAgentNames().data
  const found = searchGrants(grants, wanted, names)
  return (
    <div className="space-y-6">
      {(grants.length >= manyGrants || wanted !== '') && (
        <Field
          label="Search"
          type="search"
          placeholder="Agent, provider, account or host"
          autoComplete="off"
          spellCheck={false}
          value={wanted}
          onChange={({ target }) => {
            setWanted(target.value)
          }}
        />
      )}
      <p aria-live="polite" className="sr-only">
        {wanted !== '' && `${found.length} found`}
      </p>
      {found.length === 0 && <Empty title="No matches" />}
      <ul className="grid gap-8 2xl:grid-cols-2 2xl:items-start">
        {groupByAgent(found).map(({ agent, grants: own }) => (
          <li key={agent.agent_id} className="min-w-0 space-y-3">
            <div className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
              <h2 className="min-w-0 text-base">
                <Theirs>{agent.name}</Theirs> <MyName agentId={agent.agent_id} />
              </h2>
              <Link
                href={`/agents/${agent.agent_id}`}
                aria-label={`What it does: ${agent.name}`}
                className="text-sm font-semibold text-accent underline-offset-4 hover:underline"
              >
                What it does
              </Link>
            </div>
            <ul className="space-y-4">
              {own.map((grant) => (
                <li key={grant.grant_id}>
                  <GrantCard grant={grant} />
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </div>
  )
}
