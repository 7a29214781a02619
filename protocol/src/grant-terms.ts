/** The terms of a grant, which a decision sets and a signature can cover. */
export const termNames = [
  'connection_id',
  'allowed_hosts',
  'allowed_methods',
  'allowed_paths',
  'max_calls',
  'expires_at',
] as const
export type TermName = (typeof termNames)[number]
