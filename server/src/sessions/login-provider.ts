/**
 * Who else may say who somebody is. Its word counts for an identity, (issuer, subject), and for an e-mail address only
 * where it says itself that it verified that address.
 */
import type { loginProviderIds } from '@sallyport/protocol/sessions'
import { toDisplayName } from '@sallyport/protocol/schema'
import { OAuthAnswerInvalid } from '../platform/oauth/oauth-client.ts'
import type { OAuthClient, Tokens } from '../platform/oauth/oauth-client.ts'
import { normaliseEmail } from './user.ts'

export type LoginProviderId = (typeof loginProviderIds)[number]

/** A provider that is set up. */
export interface LoginProvider {
  id: LoginProviderId
  scopes: readonly string[]
  client: () => Promise<OAuthClient>
  /** Whose tokens these are. They serve for nothing else. */
  identify: (client: OAuthClient, tokens: Tokens) => Promise<Person>
}

/** Somebody, as a provider knows them. */
export interface Person {
  issuer: string
  subject: string
  name: string | undefined
  verifiedEmail: string | undefined
}

/** The claims of OIDC Core §5.1 that count here. GitHub's words are put into them. */
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

/** ASCII alone: in lower case the Kelvin sign is a k, and an address with it would pass for another's. */
function plainEmail(email: unknown): string | undefined {
  const isPlain =
    typeof email === 'string' && email.length <= 254 && /^[\x21-\x3f\x41-\x7e]+@[\x21-\x3f\x41-\x7e]+$/.test(email)
  return isPlain ? normaliseEmail(email) : undefined
}
