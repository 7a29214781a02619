import { ServiceError } from '../platform/errors.ts'
import type { Route } from './upstream.ts'

/** What the proxy does for a connection: its grant is judged in full, and then this version makes no call. */
export const connectionRoute: Route = {
  injects: 'authorization',
  judge: () => {
    throw new ServiceError('conflict', {
      field: 'grant_id',
      message: 'The grant covers this call, but this version makes calls on sandbox grants only.',
    })
  },
  credential: () => Promise.reject(new Error('no call on a connection is admitted')),
  upstream: () => Promise.reject(new Error('no call on a connection is admitted')),
}
