/** Pauses and resumes all agents of the signed-in user, from every view. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Action } from '../ui/action.tsx'
import { Icon } from '../ui/icons.tsx'
import { useSay } from '../ui/message.tsx'
import { Ago } from '../ui/time.tsx'
import { Notice } from '../ui/view.tsx'
import { service } from './service.ts'

const queryKey = ['pause']

function usePause() {
  return useQuery({ queryKey, queryFn: ({ signal }) => service.pauseState({ signal }) }).data
}

function useChange() {
  const queries = useQueryClient()
  const { say } = useSay()
  return {
    pause: async () => {
      queries.setQueryData(queryKey, await service.pause())
      say('All agents are paused. Nothing goes out until you resume them.')
    },
    resume: async () => {
      queries.setQueryData(queryKey, await service.resume())
      say('Agents may make calls again.')
    },
  }
}

export function PauseButton() {
  const state = usePause()
  const { pause, resume } = useChange()
  // Not before its state is known: it would do the opposite of what it says.
  if (!state) return null
  return state.paused_at === null ? (
    <Action look="bare" act={pause}>
      <Icon name="pause" />
      <span className="sr-only lg:not-sr-only">Pause all agents</span>
    </Action>
  ) : (
    <Action look="main" act={resume}>
      <Icon name="resume" />
      <span className="sr-only lg:not-sr-only">Resume all agents</span>
    </Action>
  )
}

export function PausedNotice() {
  const { paused_at: at = null, service_paused_at: ofService = null } = usePause() ?? {}
  if (ofService !== null)
    return (
      <Notice>
        The operator paused all agents of this service <Ago at={ofService} />. No calls go out.
      </Notice>
    )
  if (at === null) return null
  return (
    <Notice>
      You paused all agents <Ago at={at} />. Their calls are refused until you resume them, and calls that wait for your
      approval keep waiting.
    </Notice>
  )
}
