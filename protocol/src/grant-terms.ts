/** The terms of a grant: what a decision may say, and what a signature can cover. */
export const termNames = [
  'connection_id',
  'allowed_hosts',
  'allowed_methods',
  'allowed_paths',
  'max_calls',
  'expires_at',
] as const
export type TermName = (typeof termNames)[number]
