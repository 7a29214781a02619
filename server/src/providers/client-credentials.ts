import { ServiceError } from '../platform/errors.ts'
import type { AuthMethod } from '../platform/oauth/oauth-client.ts'
import { isRedactable, minRedactable } from '../platform/secret.ts'
import type { Secret } from '../platform/secret.ts'

/** The client as which this service is registered with an authorization server. */
export interface Credentials {
  clientId: string
  clientSecret: Secret | undefined
  authMethod: AuthMethod
}

/** Checks that the method and the secret fit together: `none` excludes a secret, all other methods need one. */
export function readCredentials(
  given: { clientId: string; clientSecret: Secret | undefined; authMethod: AuthMethod | undefined },
  usual: AuthMethod,
): Credentials {
  const { clientId, clientSecret } = given
  if (clientSecret && !isRedactable(clientSecret)) {
    const message = `"client_secret" is too short. It must have at least ${minRedactable} characters.`
    throw new ServiceError('invalid_field', { field: 'client_secret', message })
  }
  const withSecret = usual === 'none' ? 'client_secret_basic' : usual
  const authMethod = given.authMethod ?? (clientSecret ? withSecret : 'none')
  if (clientSecret && authMethod === 'none') {
    const message = 'With "none" no secret is sent. Omit one of the two.'
    throw new ServiceError('invalid_field', { field: 'token_endpoint_auth_method', message })
  }
  if (!clientSecret && authMethod !== 'none') {
    throw new ServiceError('missing_field', { field: 'client_secret', message: '"client_secret" is missing. Add it.' })
  }
  return { clientId, clientSecret, authMethod }
}
