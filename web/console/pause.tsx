/** Pauses and resumes all agents: the signed-in user's from every view, and everybody's in the admin area. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { AdminClient } from '@sallyport/sdk'
import { Action } from '../ui/action.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { Icon } from '../ui/icons.tsx'
import { useSay } from '../ui/message.tsx'
import { Ago } from '../ui/time.tsx'
import { Notice } from '../ui/view.tsx'
import { service } from './service.ts'

interface Pausing {
  client: Pick<AdminClient, 'pauseState' | 'pause' | 'resume'>
  queryKey: readonly string[]
}

const own: Pausing = { client: service, queryKey: ['pause'] }

function usePause({ client, queryKey }: Pausing) {
  return useQuery({ queryKey, queryFn: ({ signal }) => client.pauseState({ signal }) }).data
}

function useChange({ client, queryKey }: Pausing) {
  const queries = useQueryClient()
  const { say } = useSay()
  return {
    pause: async () => {
      queries.setQueryData(queryKey, await client.pause())
      say('All agents are paused. Nothing goes out until you resume them.')
    },
    resume: async () => {
      queries.setQueryData(queryKey, await client.resume())
      say('Agents may make calls again.')
    },
  }
}

/** On narrow screens the frame shows the icon alone. */
const inFrame = 'sr-only lg:not-sr-only'

export function PauseButton({ of = own }: { of?: Pausing }) {
  const state = usePause(of)
  const { pause, resume } = useChange(of)
  // Not before its state is known: it would do the opposite of what it says.
  if (!state) return null
  return state.paused_at === null ? (
    <Action look="bare" act={pause}>
      <Icon name="pause" />
      <span className={inFrame}>Pause all agents</span>
    </Action>
  ) : (
    <Action look="main" act={resume}>
      <Icon name="resume" />
      <span className={inFrame}>Resume all agents</span>
    </Action>
  )
}

export function PausedNotice() {
  const { paused_at: at = null, service_paused_at: byOperator = null } = usePause(own) ?? {}
  if (byOperator !== null)
    return (
      <Notice>
        The operator paused all agents of this service <Ago at={byOperator} />. No calls go out.
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

function ofService(admin: AdminClient): Pausing {
  return { client: admin, queryKey: ['admin', 'pause'] }
}

/** For the operator: the switch for the whole service. */
export function PauseServiceButton({ admin }: { admin: AdminClient }) {
  const of = ofService(admin)
  const state = usePause(of)
  const { pause } = useChange(of)
  if (!state || state.service_paused_at !== null) return <PauseButton of={of} />
  return (
    <Confirm
      look="plain"
      opener={
        <>
          <Icon name="pause" />
          <span className={inFrame}>Pause all agents</span>
        </>
      }
      title="Pause all agents of all users?"
      verb="Pause them"
      act={pause}
    >
      <p>Their calls end, also those in progress, and are refused until you resume them. Grants stay as they are.</p>
    </Confirm>
  )
}

export function ServicePausedNotice({ admin }: { admin: AdminClient }) {
  const at = usePause(ofService(admin))?.service_paused_at ?? null
  if (at === null) return null
  return (
    <Notice>
      All agents of all users have been paused since <Ago at={at} />. No calls go out until you resume them.
    </Notice>
  )
}
