/** Pauses all agents of the signed-in user, or of the service. */
import type { Pause } from '@sallyport/sdk'
import { asAdmin, asUser } from '../clients.ts'
import { command } from '../command.ts'
import type { Shell } from '../shell.ts'

const options = {
  service: { type: 'boolean', summary: 'all agents of the service, as the operator' },
} as const

export const pause = command({
  name: 'pause',
  group: 'person',
  summary: 'stop the calls of all your agents until you resume them',
  about: 'Calls in progress end within a second, and none begins. Grants and calls that wait for you stay as they are.',
  options,
  examples: [
    ['sallyport pause', 'your agents'],
    ['sallyport pause --service', 'all agents of the service, with the admin token'],
  ],
  run: async (shell, { service }) => {
    const client = service ? asAdmin(shell) : asUser(shell)
    const state = await client.pause({ signal: shell.interrupted })
    show(shell, state, `Paused. No calls go out until: sallyport resume${service ? ' --service' : ''}`)
    return undefined
  },
})

export const resume = command({
  name: 'resume',
  group: 'person',
  summary: 'let your agents make calls again',
  options,
  examples: [
    ['sallyport resume', 'after sallyport pause'],
    ['sallyport resume --service', 'after sallyport pause --service'],
  ],
  run: async (shell, { service }) => {
    const client = service ? asAdmin(shell) : asUser(shell)
    const state = await client.resume({ signal: shell.interrupted })
    const isStillPaused = state.service_paused_at !== null
    show(
      shell,
      state,
      isStillPaused
        ? 'Resumed, but the operator has paused all agents of the service.'
        : 'Resumed. Agents may make calls again.',
    )
    return undefined
  },
})

function show({ json, output }: Shell, state: Pause, words: string): void {
  if (json) output.json(state)
  else output.line(words)
}
