import { useQueryClient } from '@tanstack/react-query'
import { Action } from '../../ui/action.tsx'
import { useSay } from '../../ui/message.tsx'
import { useMutedAgents } from '../lists.ts'
import { service } from '../service.ts'

/** A muted agent keeps its grants. */
export function Mute({ agentId, name }: { agentId: string; name: string }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const { data: muted } = useMutedAgents()
  if (!muted) return null
  const change = async (act: () => Promise<unknown>, text: string) => {
    await act()
    await queries.invalidateQueries({ queryKey: ['muted-agents'] })
    say(text)
  }
  return muted.some(({ agent_id: id, blocked }) => id === agentId && blocked) ? (
    <Action
      label={`Unmute ${name}`}
      act={() => change(() => service.mutedAgents.unmute(agentId), 'Its requests are listed and can notify you again.')}
    >
      Unmute
    </Action>
  ) : (
    <Action
      label={`Mute ${name}`}
      act={() =>
        change(
          () => service.mutedAgents.block(agentId),
          'Its requests no longer notify you and aren’t listed. What it can do now stays.',
        )
      }
    >
      Mute
    </Action>
  )
}
