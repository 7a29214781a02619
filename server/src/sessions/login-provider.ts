/**
 * External providers that users can sign in with. A provider is trusted for the identity (issuer and subject), and for
 * an e-mail address only if it says that it has verified the address.
 */
import type { loginProviderIds } from '@sallyport/protocol/sessions'
import { toDisplayName } from '@sallyport/protocol/schema'
import { OAuthAnswerInvalid } from '../platform/oauth/oauth-client.ts'
import type { OAuthClient, Tokens } from '../platform/oauth/oauth-client.ts'
import { normaliseEmail } from './user.ts'

export type LoginProviderId = (typeof loginProviderIds)[number]

/** A configured provider. */
export interface LoginProvider {
  id: LoginProviderId
  scopes: readonly string[]
  client: () => Promise<OAuthClient>
  /** Finds out whose tokens these are. They are used for nothing else. */
  identify: (client: OAuthClient, tokens: Tokens) => Promise<Person>
}

/** A person, as identified by a provider. */
export interface Person {
  issuer: string
  subject: string
  name: string | undefined
  verifiedEmail: string | undefined
}

/** The claims of OIDC Core §5.1 that are used here. GitHub's responses are mapped to them. */
export interface Claims {
  sub?: unknown
  name?: unknown
  email?: unknown
  email_verified?: unknown
}

export function personOf(issuer: string, { sub, name, email, email_verified: isVerified }: Claims): Person {
  if (typeof sub !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(sub)) throw new OAuthAnswerInvalid('no subject')
  return {
    issuer,
    subject: sub,
    name: typeof name === 'string' ? toDisplayName(name, 200) : undefined,
    verifiedEmail: isVerified === true ? plainEmail(email) : undefined,
  }
}

/** ASCII only: the Kelvin sign becomes `k` in lower case, so an address with it could pass for someone else's. */
function plainEmail(email: unknown): string | undefined {
  const isPlain =
    typeof email === 'string' && email.length <= 254 && /^[\x21-\x3f\x41-\x7e]+@[\x21-\x3f\x41-\x7e]+$/.test(email)
  return isPlain ? normaliseEmail(email) : undefined
}
