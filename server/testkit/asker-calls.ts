/** Calls about agents that have asked, and about what they asked. */
import type { TestService } from './service.ts'

interface World extends Pick<TestService, 'call'> {
  me: { token: string }
}

/** `asked`: asks, and returns the request's id. `muted`: returns the id of an agent that was denied. */
export function callsOnAskers<W extends World>(
  asked: (world: W) => Promise<string>,
  muted: (world: W) => Promise<string>,
) {
  return {
    'user POST /v4/access-requests/{id}/renew': async (world: W) => {
      const path = `/v4/access-requests/${await asked(world)}`
      await world.call('POST', `${path}/deny`, { token: world.me.token })
      return { path: `${path}/renew` }
    },
    'user POST /v4/muted-agents/{id}/block': async (world: W) => {
      await asked(world)
      return { path: `/v4/muted-agents/${await muted(world)}/block` }
    },
    'user POST /v4/muted-agents/{id}/unmute': async (world: W) => ({
      path: `/v4/muted-agents/${await muted(world)}/unmute`,
    }),
    'user PUT /v4/mail': () => Promise.resolve({ path: '/v4/mail' }),
    'user DELETE /v4/mail': async (world: W) => {
      await world.call('PUT', '/v4/mail', { token: world.me.token })
      return { path: '/v4/mail' }
    },
    'user PUT /v4/agent-names/{id}': async (world: W) => {
      await asked(world)
      return { path: `/v4/agent-names/${await muted(world)}`, body: { name: 'My laptop' } }
    },
    'user DELETE /v4/agent-names/{id}': async (world: W) => ({ path: `/v4/agent-names/${await muted(world)}` }),
  }
}
