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
      lead="All registered agents. Their names are not verified. Without a grant they can’t do anything."
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
  const isClaimed = agent.owner_user_id !== 'self-registered'
  const disable = async () => {
    await admin.agents.disable(agent.agent_id)
    await queries.invalidateQueries({ queryKey: ['admin', 'agents'] })
    say('The agent is disabled. Its calls are refused from now on.')
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
              {isClaimed ? 'Registered' : 'Self-registered'} <Moment at={agent.created_at} />
              {isClaimed && (
                <>
                  , claimed owner: <bdi>{agent.owner_user_id}</bdi>
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
              act={disable}
            >
              <p>
                Its token stops working and its streams end, for every user who granted it access. This can’t be undone:
                the agent would have to register and request access again.
              </p>
            </Confirm>
          )}
        </div>
      </Card>
    </li>
  )
}
