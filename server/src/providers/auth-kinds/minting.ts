/**
 * Tokens that are issued for a credential, and that calls carry in its place. They are renewed under the same lease as
 * those of OAuth. Each kind that has them is a file beside this one.
 */
import type { Clock } from '../../platform/clock.ts'
import type { Egress } from '../../platform/egress/egress.ts'
import type { SuppliedBy } from '../../platform/egress/destinations.ts'
import type { Tokens } from '../../platform/oauth/oauth-client.ts'
import type { OAuth } from '../../platform/oauth/oauth.ts'
import type { AuthMethod } from '../auth-method.ts'
import type { CredentialValues } from '../injector.ts'
import type { Provider } from '../provider.ts'
import type { Assertion } from './private-key.ts'

export interface MintNeeds {
  oauth: OAuth
  egress: Pick<Egress, 'fetch'>
  clock: Clock
}

/** What a token is issued for. */
export interface MintSource {
  provider: Provider
  method: AuthMethod
  values: CredentialValues
}

/** Whose account a credential belongs to. */
export interface Account {
  id: string
  label: string | null
}

export interface Minted extends Tokens {
  /** What proved to the provider who asks, if it can be used again: upstreams must not return it. */
  assertion?: Assertion
}

export interface Minting {
  /** Whether calls carry a token for these values, rather than the values themselves. Absent: always. */
  isFor?: (values: CredentialValues) => boolean
  /**
   * Throws `OAuthRefused` if the credential is refused, for good with one of the codes in `deadCredential`, and
   * `provider_unavailable` if the decision is unknown. Nothing that was sent or received is in either.
   */
  mint: (needs: MintNeeds, source: MintSource) => Promise<Minted>
  /** Asked once a token has been issued, when an account is connected or its credential is replaced. */
  account: (needs: MintNeeds, source: MintSource, minted: Minted) => Account | Promise<Account>
}

/** Errors after which the credential has to be replaced. */
export const deadCredential: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'invalid_grant',
  'invalid_scope',
  'access_denied',
  'unauthorized',
])

export function whoSuppliedTokenUrl({ source }: Pick<Provider, 'source'>): SuppliedBy {
  return source === 'proposal' ? 'stranger' : 'operator'
}
