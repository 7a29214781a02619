import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import type { AdminClient, Agent } from '@sallyport/sdk'
import { Confirm } from '../../ui/confirm.tsx'
import { useSay } from '../../ui/message.tsx'
import { Pages } from '../../ui/pages.tsx'
import { Moment } from '../../ui/time.tsx'
import { Badge, Card, Empty, Theirs, View } from '../../ui/view.tsx'

export function Agents({ admin }: { admin: AdminClient }) {
  const agents = useInfiniteQuery({
    queryKey: ['admin', 'agents'],
    queryFn: ({ pageParam, signal }) => admin.agents.list({ ...pageParam }, { signal }).page(),
    initialPageParam: {},
    getNextPageParam: ({ next_cursor: cursor }) => (cursor === null ? undefined : { cursor }),
  })
  return (
    <View
      title="Agents"
      lead="Whatever registered here. Nobody has verified their names; without a grant they can do nothing."
    >
      <Pages query={agents} recordsOf={(page) => page.agents} empty={<Empty title="No agent has registered yet" />}>
        {(agent) => <AgentCard key={agent.agent_id} admin={admin} agent={agent} />}
      </Pages>
    </View>
  )
}

function AgentCard({ admin, agent }: { admin: AdminClient; agent: Agent }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const disable = async () => {
    await admin.agents.disable(agent.agent_id)
    await queries.invalidateQueries({ queryKey: ['admin', 'agents'] })
    say('The agent is disabled. Its next call is refused.')
  }
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
              Registered <Moment at={agent.created_at} />, owner as it says: <bdi>{agent.owner_user_id}</bdi>
            </p>
            <p className="font-mono text-xs text-quiet">{agent.agent_id}</p>
          </div>
          {agent.status === 'active' && (
            <Confirm
              opener="Disable"
              openerLabel={`Disable ${agent.name}`}
              title="Disable this agent?"
              verb="Disable"
              act={disable}
            >
              <p>
                Its token stops working and its streams end, for everybody who granted it something. There is no way
                back: it would have to register anew and ask again.
              </p>
            </Confirm>
          )}
        </div>
      </Card>
    </li>
  )
}
