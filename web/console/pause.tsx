/** Pauses and resumes all agents: the signed-in user's from every view, and everybody's in the admin area. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { AdminClient } from '@sallyport/sdk'
import { Action } from '../ui/action.tsx'
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

export function PauseButton({ of = own, labelLook = inFrame }: { of?: Pausing; labelLook?: string }) {
  const state = usePause(of)
  const { pause, resume } = useChange(of)
  // Not before its state is known: it would do the opposite of what it says.
  if (!state) return null
  return state.paused_at === null ? (
    <Action look="bare" act={pause}>
      <Icon name="pause" />
      <span className={labelLook}>Pause all agents</span>
    </Action>
  ) : (
    <Action look="main" act={resume}>
      <Icon name="resume" />
      <span className={labelLook}>Resume all agents</span>
    </Action>
  )
}

export function PausedNotice() {
  const { paused_at: at = null, service_paused_at: ofService = null } = usePause(own) ?? {}
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

/** For the operator: the switch for the whole service, and what it does. */
export function ServicePause({ admin }: { admin: AdminClient }) {
  const of: Pausing = { client: admin, queryKey: ['admin', 'pause'] }
  const at = usePause(of)?.service_paused_at
  if (at === undefined) return null
  return (
    <Notice tone={at === null ? 'calm' : 'warn'}>
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <p className="min-w-0 flex-1 basis-72">
          {at === null ? (
            'In an emergency, stop the calls of all agents of all users, including calls in progress. Grants stay as they are.'
          ) : (
            <>
              All agents of all users have been paused since <Ago at={at} />. No calls go out until you resume them.
            </>
          )}
        </p>
        <PauseButton of={of} labelLook="" />
      </div>
    </Notice>
  )
}
