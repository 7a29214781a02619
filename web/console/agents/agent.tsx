/** One agent, as its user sees it: what it can do now, what it did today, and what it was refused. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useParams } from 'wouter'
import type { Grant } from '@sallyport/sdk'
import { Action, buttonLook } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Empty, Section, Theirs, View } from '../../ui/view.tsx'
import { GrantCard } from '../grants/grant-card.tsx'
import { service } from '../service.ts'
import { CallsOf } from './calls-of.tsx'
import { Mute } from './mute.tsx'
import { MyName, Rename } from './my-name.tsx'
import { RevokeAll } from './revoke-all.tsx'

const dayMs = 86_400_000

export function Agent() {
  const { id = '' } = useParams()
  return <AgentOf key={id} id={id} />
}

function AgentOf({ id }: { id: string }) {
  const grants = useQuery({
    queryKey: ['grants', 'of-agent', id],
    // Active ones come first. An ended one still tells its name.
    queryFn: async ({ signal }) => (await service.grants.list({ agent_id: id, limit: 200 }, { signal }).page()).grants,
  })
  return (
    <Loaded query={grants} shape="view">
      {(all) => {
        const [newest] = all
        if (!newest) return <Unknown />
        return <Known id={id} name={newest.agent.name} grants={all.filter(({ status }) => status === 'active')} />
      }}
    </Loaded>
  )
}

function Unknown() {
  return (
    <View title="Agent not found" lead="You have given no access to an agent with this address.">
      <div className="flex flex-wrap gap-2">
        <Link href="/grants" className={buttonLook('plain')}>
          View grants
        </Link>
        <Link href="/connect-agent" className={buttonLook('plain')}>
          Connect an agent
        </Link>
      </div>
    </View>
  )
}

function Known({ id, name, grants }: { id: string; name: string; grants: Grant[] }) {
  const [isRenaming, setIsRenaming] = useState(false)
  return (
    <View
      title={name}
      heading={
        <>
          <Theirs>{name}</Theirs> <MyName agentId={id} />
        </>
      }
      lead="The name is the agent’s own and not verified."
      actions={
        <>
          {!isRenaming && (
            <Action
              label={`Rename for me: ${name}`}
              act={() => {
                setIsRenaming(true)
              }}
            >
              Rename for me
            </Action>
          )}
          <Mute agentId={id} name={name} />
          {grants.length > 1 && <RevokeAll name={name} grants={grants} />}
        </>
      }
    >
      {isRenaming && (
        <Rename
          agentId={id}
          onDone={() => {
            setIsRenaming(false)
          }}
        />
      )}
      <Section title="What it can do now">
        {grants.length === 0 ? (
          <Empty title="Nothing">
            <p>It has no active grant. Its calls are refused.</p>
          </Empty>
        ) : (
          <ul className="space-y-4">
            {grants.map((grant) => (
              <li key={grant.grant_id}>
                <GrantCard grant={grant} />
              </li>
            ))}
          </ul>
        )}
      </Section>
      <CallsOf
        title="Today"
        name={`today ${id}`}
        query={() => ({ agent_id: id, since: new Date(new Date().setHours(0, 0, 0, 0)).toISOString() })}
        none="No calls yet today."
        address={`/activity?agent_id=${id}&span=day`}
      />
      <CallsOf
        title="Refused in the last 7 days"
        name={`refused ${id}`}
        refused
        query={() => ({
          ...{ agent_id: id, event: 'proxy.refused' },
          since: new Date(Date.now() - 7 * dayMs).toISOString(),
        })}
        none="Nothing. It kept within its grants."
        address={`/activity?agent_id=${id}&kind=proxy.refused`}
      />
    </View>
  )
}
