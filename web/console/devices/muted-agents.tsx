/** Muted and blocked agents, and how to unmute them. */
import { useQueryClient } from '@tanstack/react-query'
import type { MutedAgent } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { useSay } from '../../ui/message.tsx'
import { Moment } from '../../ui/time.tsx'
import { Badge, Card, Section, Theirs, focusHeading } from '../../ui/view.tsx'
import { useMutedAgents } from '../lists.ts'
import { service } from '../service.ts'

export function MutedAgents() {
  const muted = useMutedAgents()
  return (
    <Section
      title="Muted agents"
      note="When you deny a request, its agent is muted for a day, or permanently if you block it."
    >
      <Loaded query={muted}>
        {(agents) =>
          agents.length === 0 ? (
            <p className="text-sm text-quiet">None.</p>
          ) : (
            <ul className="space-y-3">
              {agents.map((agent) => (
                <li key={agent.agent_id}>
                  <Muted agent={agent} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

function Muted({ agent }: { agent: MutedAgent }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const change = async (act: () => Promise<unknown>, text: string) => {
    await act()
    await queries.invalidateQueries({ queryKey: ['muted-agents'] })
    focusHeading()
    say(text)
  }
  return (
    <Card>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="space-y-1">
          <p className="flex flex-wrap items-center gap-2">
            <Theirs>{agent.name}</Theirs>
            {agent.blocked && <Badge tone="warn">blocked</Badge>}
          </p>
          <p className="text-sm text-quiet">
            {agent.muted_until ? (
              <>
                Muted until <Moment at={agent.muted_until} />
              </>
            ) : (
              'Muted permanently: its requests are neither notified nor listed'
            )}
          </p>
        </div>
        <div className="flex gap-2">
          <Action
            label={`Unmute ${agent.name}`}
            act={() => change(() => service.mutedAgents.unmute(agent.agent_id), 'The agent is unmuted.')}
          >
            Unmute
          </Action>
          {!agent.blocked && (
            <Action
              label={`Block ${agent.name}`}
              act={() => change(() => service.mutedAgents.block(agent.agent_id), 'The agent is blocked.')}
            >
              Block
            </Action>
          )}
        </div>
      </div>
    </Card>
  )
}
