import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import type { AdminClient, ListedAgent } from '@sallyport/sdk'
import { Confirm } from '../../ui/confirm.tsx'
import { useSay } from '../../ui/message.tsx'
import { Pages } from '../../ui/pages.tsx'
import { Moment } from '../../ui/time.tsx'
import { Badge, Card, Empty, Theirs, View } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { SearchField, useSearch } from './search-field.tsx'

export function Agents({ admin }: { admin: AdminClient }) {
  const search = useSearch()
  const { query } = search
  const agents = useInfiniteQuery({
    queryKey: ['admin', 'agents', query],
    queryFn: ({ pageParam, signal }) => admin.agents.list({ ...(query && { query }), ...pageParam }, { signal }).page(),
    placeholderData: (before) => before,
    initialPageParam: {},
    getNextPageParam: ({ next_cursor: cursor }) => (cursor === null ? undefined : { cursor }),
  })
  return (
    <View
      title="Agents"
      lead="All registered agents. Their names are not verified. Without a grant they can’t do anything."
    >
      <SearchField search={search} label="Search agents" placeholder="Name, ID or claimed owner" />
      <Pages
        query={agents}
        recordsOf={(page) => page.agents}
        empty={<Empty title={query ? 'No matches' : 'No agent has registered yet'} />}
      >
        {(agent) => <AgentCard key={agent.agent_id} admin={admin} agent={agent} />}
      </Pages>
    </View>
  )
}

function AgentCard({ admin, agent }: { admin: AdminClient; agent: ListedAgent }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const isClaimed = agent.owner_user_id !== 'self-registered'
  const change = async (verb: 'disable' | 'enable', text: string) => {
    await admin.agents[verb](agent.agent_id)
    await queries.invalidateQueries({ queryKey: ['admin', 'agents'] })
    say(text)
  }
  const grants = count(agent.active_grants, 'active grant')
  return (
    <li>
      <Card>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <div className="min-w-0">
            <p className="flex flex-wrap items-center gap-2">
              <Theirs>{agent.name}</Theirs>
              {agent.status === 'disabled' && <Badge tone="bad">disabled</Badge>}
            </p>
            <p className="text-sm text-quiet">
              {isClaimed ? 'Registered' : 'Self-registered'} <Moment at={agent.created_at} />
              {isClaimed && (
                <>
                  , claimed owner: <bdi>{agent.owner_user_id}</bdi>
                </>
              )}
            </p>
            <p className="text-sm text-quiet">
              {grants}
              {agent.last_call_at && (
                <>
                  {' · '}last call <Moment at={agent.last_call_at} />
                </>
              )}
            </p>
            <p className="font-mono text-xs text-quiet">{agent.agent_id}</p>
          </div>
          {agent.status === 'active' && (
            <Confirm
              opener="Disable"
              openerLabel={`Disable ${agent.name}`}
              title="Disable this agent?"
              verb="Disable"
              act={() => change('disable', 'The agent is disabled. Its calls are refused from now on.')}
            >
              <p>
                Its token stops working and its calls in progress end, for every user who granted it access. You can
                enable it again later.
              </p>
            </Confirm>
          )}
          {agent.status === 'disabled' && (
            <Confirm
              opener="Enable"
              openerLabel={`Enable ${agent.name}`}
              title="Enable this agent again?"
              look="plain"
              verb="Enable"
              act={() => change('enable', 'The agent is enabled. Its token works again.')}
            >
              <p>
                Its token works again,{' '}
                {agent.active_grants === 0
                  ? 'and it can request access. It has no active grants.'
                  : `and it can make calls with its ${grants} immediately.`}
              </p>
              <p>
                Keys for tools and calls that ended when it was disabled stay ended, and so do grants that have expired
                or been revoked.
              </p>
            </Confirm>
          )}
        </div>
      </Card>
    </li>
  )
}
