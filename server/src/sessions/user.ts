/** A person who signs in and decides. */
export interface User {
  userId: string
  /** A fixed name inside this installation, such as `owner`; most users have none. */
  handle: string | null
  name: string | null
  /** Lower-case. Given by an admin, so it counts as verified, or verified by the provider that the user came from. */
  email: string | null
  createdAt: Date
  disabledAt: Date | null
  /** Approve on device only: what is decided has to be signed by a device of theirs. */
  requiresDevice: boolean
}

/** Who `npm start` signs in. */
export const ownerHandle = 'owner'

export function normaliseEmail(email: string): string {
  return email.toLowerCase()
}
