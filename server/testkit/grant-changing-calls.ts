/** Calls by which a person changes a grant, in the console or signed by a device. */
import type { TestDevice } from './device.ts'
import type { TestService } from './service.ts'

interface Person extends Pick<TestService, 'call'> {
  device: () => Promise<TestDevice>
}

const body = { max_calls: 1 }

export function callsThatChangeGrants<World extends Person>(granted: (world: World) => Promise<string>) {
  const pathOf = async (world: World) => `/v4/grants/${await granted(world)}`
  return {
    'user PATCH /v4/grants/{id}': async (world: World) => ({ path: await pathOf(world), body }),
    'device POST /v4/grants/{id}/challenge': async (world: World) => ({
      path: `${await pathOf(world)}/challenge`,
      body,
    }),
    'device PATCH /v4/grants/{id}': async (world: World) => {
      const path = await pathOf(world)
      const device = await world.device()
      const reply = await world.call('POST', `${path}/challenge`, { token: device.token, body })
      const { challenge_id, signing_input } = reply.body as { challenge_id: string; signing_input: string }
      return { path, body: { ...body, challenge_id, signature: device.sign(signing_input) } }
    },
  }
}
