import { ServiceError } from '../platform/errors.ts'
import type { AuthMethod } from '../platform/oauth/oauth-client.ts'
import type { Secret } from '../platform/secret.ts'

/** The client that an authorization server knows us by. */
export interface Credentials {
  clientId: string
  clientSecret: Secret | undefined
  authMethod: AuthMethod
}

/** A shorter one could not be found again in what comes back without striking out innocent text. */
const minSecretLength = 16

export function isLongEnough(secret: Secret): boolean {
  return secret.reveal().length >= minSecretLength
}

/** What an admin gives, held together: a method needs its secret, and a secret its method. */
export function readCredentials(
  given: { clientId: string; clientSecret: Secret | undefined; authMethod: AuthMethod | undefined },
  usual: AuthMethod,
): Credentials {
  const { clientId, clientSecret } = given
  if (clientSecret && !isLongEnough(clientSecret)) {
    const message = `"client_secret" is too short. It takes ${minSecretLength} or more characters.`
    throw new ServiceError('invalid_field', { field: 'client_secret', message })
  }
  const withSecret = usual === 'none' ? 'client_secret_basic' : usual
  const authMethod = given.authMethod ?? (clientSecret ? withSecret : 'none')
  if (clientSecret && authMethod === 'none') {
    const message = 'With "none" no secret is sent. Leave one of the two out.'
    throw new ServiceError('invalid_field', { field: 'token_endpoint_auth_method', message })
  }
  if (!clientSecret && authMethod !== 'none') {
    throw new ServiceError('missing_field', { field: 'client_secret', message: '"client_secret" is missing. Add it.' })
  }
  return { clientId, clientSecret, authMethod }
}
