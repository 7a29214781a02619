import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { isEgressFailure } from '../egress/failures.ts'
import { ServiceError } from '../errors.ts'
import { OAuthAnswerInvalid, OAuthRefused } from './oauth-client.ts'

/** Runs a step of OAuth and turns what it throws into one of our three. What stands in an error's cause stays behind. */
export async function judging<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw judge(error)
  }
}

/** The server could not be asked, or failed: nobody knows its answer. What else is no refusal is a fault of ours. */
export function isUnavailable(error: unknown): error is ServiceError {
  return isEgressFailure(error) || (error instanceof ServiceError && error.code === 'provider_unavailable')
}

/** The server is there, and has nothing at this address. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ClientError && error.cause instanceof Response && error.cause.status === 404
}

function judge(error: unknown): Error {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    if (one instanceof ServiceError) return one
  }
  if (error instanceof ResponseBodyError) {
    // A server that fails is not one that refuses, whatever it writes into the body.
    return error.status >= 500 || error.status === 429
      ? unavailable(`status ${error.status}`)
      : new OAuthRefused(spelling(error.error))
  }
  if (error instanceof AuthorizationResponseError) return new OAuthRefused(spelling(error.error))
  if (error instanceof WWWAuthenticateChallengeError) {
    return error.status >= 500 ? unavailable(`status ${error.status}`) : new OAuthRefused('unauthorized')
  }
  if (error instanceof ClientError && error.code === 'OAUTH_RESPONSE_IS_NOT_CONFORM') return unavailable(error.message)
  if (error instanceof ClientError && error.code === 'OAUTH_RESPONSE_IS_NOT_JSON') return unavailable(error.message)
  if (error instanceof ClientError && error.code === 'OAUTH_PARSE_ERROR') return unavailable(error.message)
  if (error instanceof ClientError) return new OAuthAnswerInvalid(error.code ?? error.message)
  return new OAuthAnswerInvalid(error instanceof Error ? error.name : typeof error)
}

function unavailable(reason: string): ServiceError {
  return new ServiceError('provider_unavailable', { detail: `the authorization server: ${reason}` })
}

/** RFC 6749 §5.2 leaves the code nearly any character; ours goes into links and records. */
function spelling(code: string): string {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : 'unreadable_error'
}
