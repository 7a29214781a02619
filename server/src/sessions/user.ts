/** A person who signs in and decides on access requests. */
export interface User {
  userId: string
  /** A fixed name in this installation, such as `owner`. Most users have none. */
  handle: string | null
  name: string | null
  /** In lower case. Set by an admin and so trusted, or verified by the login provider. */
  email: string | null
  createdAt: Date
  disabledAt: Date | null
  /** Approve on device only: every decision has to be signed by one of the user's devices. */
  requiresDevice: boolean
}

/** The user that `npm start` signs in. */
export const ownerHandle = 'owner'

export function normaliseEmail(email: string): string {
  return email.toLowerCase()
}
