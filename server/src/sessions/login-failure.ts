import type { LoginErrorCode } from '@sallyport/protocol/sessions'
import { isUnavailable } from '../platform/oauth/failures.ts'
import { OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'

/** A browser login that did not work. The browser is told the code alone; the reason is for the log. */
export class LoginFailed extends Error {
  readonly code: LoginErrorCode
  /** Where the person wanted to go, as far as that is known: they start again from there. */
  redirectAfter = '/'

  constructor(code: LoginErrorCode, reason?: string) {
    super(reason ?? code)
    this.name = 'LoginFailed'
    this.code = code
  }
}

/** Runs what may fail on the way to this page. */
export async function onTheWayTo<T>(redirectAfter: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LoginFailed) error.redirectAfter = redirectAfter
    throw error
  }
}

/** Runs what asks the provider. What is our own failure stays what it is. */
export async function asking<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof OAuthAnswerInvalid) throw new LoginFailed('invalid_response', error.message)
    if (error instanceof OAuthRefused) {
      throw new LoginFailed(error.code === 'access_denied' ? 'access_denied' : 'provider_error', error.message)
    }
    if (isUnavailable(error)) throw new LoginFailed('provider_unavailable', error.detail ?? error.code)
    throw error
  }
}
