/** Reads parameters from the URL. Anyone can craft a URL, so only ids are taken from it, and all texts are ours. */

export interface Brought {
  loginToken: string | null
  error: string | null
  connectionId: string | null
}

/** The parameters of a URL, and the URL without them. */
export function readAddress(href: string): { brought: Brought; rest: string } {
  const { pathname, searchParams: query, hash } = new URL(href)
  const brought = {
    loginToken: new URLSearchParams(hash.slice(1)).get('login_token'),
    error: query.get('error'),
    connectionId: query.get('connection_id'),
  }
  query.delete('error')
  query.delete('connection_id')
  return { brought, rest: pathname + (query.size > 0 ? `?${query}` : '') }
}

/** The request or held call to return to after signing in. */
export function waitingRequest(search: string): string | undefined {
  const id = new URLSearchParams(search).get('decide') ?? ''
  const [, kind] = /^(arq|cal)_[0-9a-z]{26}$/.exec(id) ?? []
  return kind === undefined ? undefined : `/approve-${kind === 'arq' ? 'proxy' : 'call'}/${id}`
}

/** An OAuth response arrived while no one was signed in, and is waiting at the service. */
export function isConnectWaiting(search: string): boolean {
  return new URLSearchParams(search).get('connect') === 'waiting'
}

export function loginTokenIn(text: string): string | undefined {
  return /sp_login_[0-9A-Za-z]+/.exec(text)?.[0]
}

/** Messages for the result of a sign-in or connection. */
const results: Record<string, string> = {
  access_denied: 'Access was denied at the provider. Nothing was changed.',
  invalid_state: 'That attempt expired, was already used, or was started in another browser. Please start again.',
  invalid_response: 'The provider’s response was invalid, so nothing was changed. Please start again.',
  not_invited: 'You haven’t been invited. Ask your administrator to invite your email address.',
  user_disabled: 'This user is disabled. Contact your administrator.',
  provider_unavailable: 'The provider isn’t responding. Please try again later.',
  provider_error: 'The provider rejected the request. Your administrator can find out why.',
  provider_disabled: 'This provider is disabled. Nothing was connected.',
  wrong_user: 'Another user started connecting that account. Nothing was connected.',
  wrong_account: 'You signed in with a different account than the one to reconnect. Nothing was connected.',
  token_refused: 'The provider did not issue a token. Please start again.',
  weak_token: 'The provider’s token is too short to redact reliably. Nothing was connected.',
}

export function describeResult(error: string): string {
  return (Object.hasOwn(results, error) && results[error]) || 'Something went wrong. Please start again.'
}
