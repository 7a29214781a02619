import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { isEgressFailure } from '../egress/failures.ts'
import { ServiceError } from '../errors.ts'
import { OAuthAnswerInvalid, OAuthRefused } from './oauth-client.ts'

/** Runs a step of OAuth and converts its errors to one of our three. The cause is dropped: it may hold what was sent. */
export async function judging<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw judge(error)
  }
}

/** The server could not be reached or failed, so its decision is unknown. */
export function isUnavailable(error: unknown): error is ServiceError {
  return isEgressFailure(error) || (error instanceof ServiceError && error.code === 'provider_unavailable')
}

/** The server answered 404. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ClientError && error.cause instanceof Response && error.cause.status === 404
}

const malformed = new Set(['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_PARSE_ERROR'])

function judge(error: unknown): Error {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    if (one instanceof ServiceError) return one
  }
  if (error instanceof ResponseBodyError) {
    // A failing server has not refused, whatever its body says.
    return error.status >= 500 || error.status === 429
      ? unavailable(`status ${error.status}`)
      : new OAuthRefused(error.error, error.status)
  }
  if (error instanceof AuthorizationResponseError) return new OAuthRefused(error.error)
  if (error instanceof WWWAuthenticateChallengeError) {
    return error.status >= 500 ? unavailable(`status ${error.status}`) : new OAuthRefused('unauthorized', error.status)
  }
  if (error instanceof ClientError && malformed.has(error.code ?? '')) return unavailable(error.message)
  if (error instanceof ClientError) return new OAuthAnswerInvalid(error.code ?? error.message)
  return new OAuthAnswerInvalid(error instanceof Error ? error.name : typeof error)
}

function unavailable(reason: string): ServiceError {
  return new ServiceError('provider_unavailable', { detail: `the authorization server: ${reason}` })
}
