/** The service as the signed-in person sees it. The session is a cookie that no script can read. */
import { createUserClient } from '@sallyport/sdk'

export const service = createUserClient()
