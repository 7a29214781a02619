/** Calls by which a person pauses and resumes all agents. */
import type { TestService } from './service.ts'

const path = '/v4/pause'

export const callsThatPause = {
  'user PUT /v4/pause': () => ({ path }),
  'user DELETE /v4/pause': async ({ call, me }: Pick<TestService, 'call'> & { me: { token: string } }) => {
    await call('PUT', path, { token: me.token })
    return { path }
  },
}
