import type { LoginErrorCode } from '@sallyport/protocol/sessions'
import { ServiceError } from '../platform/errors.ts'
import { OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'

/** A browser login that did not work. The browser is told the code alone; the reason is for the log. */
export class LoginFailed extends Error {
  readonly code: LoginErrorCode

  constructor(code: LoginErrorCode, reason?: string) {
    super(reason ?? code)
    this.name = 'LoginFailed'
    this.code = code
  }
}

/** What can go wrong between us and a provider; anything else is our own failure and stays what it is. */
const onTheWay = new Set([
  'provider_unavailable',
  'address_not_allowed',
  'invalid_url',
  'upstream_unreachable',
  'upstream_tls_error',
  'upstream_timeout',
  'upstream_body_too_large',
])

/** Runs what asks the provider. */
export async function asking<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof OAuthAnswerInvalid) throw new LoginFailed('invalid_response', error.message)
    if (error instanceof OAuthRefused) {
      throw new LoginFailed(error.code === 'access_denied' ? 'access_denied' : 'provider_error', error.message)
    }
    if (error instanceof ServiceError && onTheWay.has(error.code)) {
      throw new LoginFailed('provider_unavailable', error.detail ?? error.code)
    }
    throw error
  }
}
