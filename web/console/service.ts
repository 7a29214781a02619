/** The service's API for the signed-in user. The session is an HttpOnly cookie. */
import { createUserClient } from '@sallyport/sdk'

export const service = createUserClient()
