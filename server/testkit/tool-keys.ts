/** Calls by which an agent makes and revokes keys for its tools. */
import type { TestService } from './service.ts'

const path = '/v4/agents/keys'

/** `granted` makes a grant for the agent, and returns its id. */
export function callsOnKeys<World extends Pick<TestService, 'call'> & { agent: { token: string } }>(
  granted: (world: World) => Promise<string>,
) {
  const create = async (world: World) => ({ path, body: { grant_ids: [await granted(world)] } })
  return {
    'agent POST /v4/agents/keys': create,
    'agent DELETE /v4/agents/keys/{id}': async (world: World) => {
      const { body } = await create(world)
      const made = await world.call('POST', path, { token: world.agent.token, body })
      return { path: `${path}/${made.body.key_id}` }
    },
  }
}
