/** The service's API for the signed-in user. The session is an HttpOnly cookie. */
import { createUserClient } from '@sallyport/sdk'
import { gatedFetch } from './reading-gate.ts'

export const service = createUserClient({ fetch: gatedFetch })
