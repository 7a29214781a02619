/** What an address can say. A stranger can write any address: ids alone are taken from it, and sentences are ours. */

export interface Brought {
  loginToken: string | null
  error: string | null
  connectionId: string | null
}

/** What an address brings, and the address without it. */
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

/** Where somebody decides who had to sign in first. */
export function waitingRequest(search: string): string | undefined {
  const id = new URLSearchParams(search).get('decide') ?? ''
  return /^arq_[0-9a-z]{26}$/.test(id) ? `/approve-proxy/${id}` : undefined
}

/** An account's consent came back while nobody was signed in here, and waits at the service. */
export function isConnectWaiting(search: string): boolean {
  return new URLSearchParams(search).get('connect') === 'waiting'
}

export function loginTokenIn(text: string): string | undefined {
  return /sp_login_[0-9A-Za-z]+/.exec(text)?.[0]
}

/** What an address says of a sign-in or a connection that did not work. */
const results: Record<string, string> = {
  access_denied: 'Access was refused at the provider. Nothing was changed.',
  invalid_state: 'That attempt took too long, was used already, or began in another browser. Please start again.',
  invalid_response: 'The provider’s answer could not be trusted, so nothing was changed. Please start again.',
  not_invited: 'You have no invitation here. Ask whoever runs this service to invite your e‑mail address.',
  user_disabled: 'This user is disabled. Ask whoever runs this service.',
  provider_unavailable: 'The provider does not answer just now. Please try again in a while.',
  provider_error: 'The provider did not accept the request. Whoever runs this service can find out why.',
  provider_disabled: 'This provider is switched off here. Nothing was connected.',
  wrong_user: 'Somebody else began to connect that account. Nothing was connected.',
  wrong_account: 'That was another account than the one to be renewed. Nothing was connected.',
  token_refused: 'The provider gave no token. Please start again.',
  weak_token: 'The provider’s token is too short to be kept safe. Nothing was connected.',
}

export function describeResult(error: string): string {
  return (Object.hasOwn(results, error) && results[error]) || 'That did not work. Please start again.'
}
