/** The terms of a grant, which a decision sets and a signature can cover. */
export const termNames = [
  'connection_id',
  'allowed_hosts',
  'allowed_methods',
  'allowed_paths',
  'max_calls',
  'expires_at',
  'mode',
  'exceptions',
  'max_access',
] as const
export type TermName = (typeof termNames)[number]

/** What a call does, from harmless to irreversible. */
export const accessClasses = ['read', 'write', 'destructive'] as const
export type AccessClass = (typeof accessClasses)[number]

/** The most that a call of a grant may do. */
export const maxAccesses = ['read', 'write'] as const
export type MaxAccess = (typeof maxAccesses)[number]

/** Which calls wait for a person: none, those that change something, or all. */
export const grantModes = ['allow_all', 'ask_writes', 'ask_all'] as const
export type GrantMode = (typeof grantModes)[number]

export const exceptionActions = ['allow', 'ask', 'deny'] as const
export type ExceptionAction = (typeof exceptionActions)[number]
