import type { LoginErrorCode } from '@sallyport/protocol/sessions'
import { isUnavailable } from '../platform/oauth/failures.ts'
import { OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'

/** A failed browser login. The browser gets only the code; the reason is for the log. */
export class LoginFailed extends Error {
  readonly code: LoginErrorCode
  /** The page that the user wanted to open, if known. They can start again from there. */
  redirectAfter = '/'

  constructor(code: LoginErrorCode, reason?: string) {
    super(reason ?? code)
    this.name = 'LoginFailed'
    this.code = code
  }
}

/** Adds this page to a LoginFailed that `work` throws. */
export async function withRedirectAfter<T>(redirectAfter: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LoginFailed) error.redirectAfter = redirectAfter
    throw error
  }
}

/** Converts errors of requests to the provider into LoginFailed. Other errors are thrown unchanged. */
export async function withLoginErrors<T>(ask: () => Promise<T>): Promise<T> {
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
