import { clientIdPattern, clientSecretPattern } from '@sallyport/protocol/providers'
import type { Config } from '../config/config.ts'
import type { SuppliedBy } from '../platform/egress/destinations.ts'
import { ServiceError } from '../platform/errors.ts'
import { isUnavailable } from '../platform/oauth/failures.ts'
import { OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { isRedactable } from '../platform/secret.ts'
import type { Credentials } from './client-credentials.ts'
import { redirectUri } from './provider.ts'
import type { RegistrationError } from './provider.ts'

export interface RegisterClientNeeds {
  config: Pick<Config, 'baseUrl'>
  oauth: OAuth
}

/** A client, or why there is none. The provider is stored in both cases. */
export type Registration = { client: Credentials; error: null } | { client: undefined; error: RegistrationError }

/** Registers a client with the provider (RFC 7591). It is tied to the slug, which is part of the redirect URI. */
export async function registerClient(
  { config, oauth }: RegisterClientNeeds,
  { metadata, slug, scopes }: { metadata: Metadata; slug: string; scopes: readonly string[] },
  suppliedBy: SuppliedBy,
): Promise<Registration> {
  if (metadata.registration_endpoint === undefined) return without('registration_unsupported')
  try {
    const wanted = { name: 'Sallyport', redirectUri: redirectUri(config.baseUrl, slug), scopes }
    const client = await oauth.register(metadata, wanted, suppliedBy)
    return isUsable(client) ? { client, error: null } : without('registration_invalid')
  } catch (error) {
    return without(reasonOf(error))
  }
}

function without(error: RegistrationError): Registration {
  return { client: undefined, error }
}

/** The same rules as for a client that an admin enters. */
function isUsable({ clientId, clientSecret: secret }: Credentials): boolean {
  const isSecret = secret === undefined || (secret.matches(clientSecretPattern) && isRedactable(secret))
  return clientIdPattern.test(clientId) && isSecret
}

function reasonOf(error: unknown): RegistrationError {
  if (error instanceof OAuthRefused) return 'registration_refused'
  if (error instanceof OAuthAnswerInvalid) return 'registration_invalid'
  if (!isUnavailable(error)) throw error
  if (error.code === 'address_not_allowed') {
    throw new ServiceError(error.code, { field: 'registration_endpoint', detail: error.message })
  }
  const isAnswered = error.code === 'provider_unavailable' || error.code === 'upstream_body_too_large'
  return isAnswered ? 'registration_invalid' : 'registration_unreachable'
}
