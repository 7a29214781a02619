/** The service's API for the signed-in user. The session is an HttpOnly cookie. */
import { createUserClient } from '@sallyport/sdk'
import { watchedFetch } from '../ui/reachability.ts'

export const service = createUserClient({ fetch: watchedFetch })
