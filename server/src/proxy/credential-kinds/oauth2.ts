/** `oauth2`, `client_credentials` and `google_service_account`: an access token, renewed when due. */
import type { FreshTokenOf } from '../../connections/fresh-token.ts'
import type { StandingProvider } from '../../grants/standing.ts'
import type { OpenedCredential } from '../credentials.ts'
import { inHeader } from './header.ts'

export async function openOAuth2(
  freshToken: FreshTokenOf,
  connectionId: string,
  { injection }: Pick<StandingProvider, 'injection'>,
  refused?: number,
): Promise<OpenedCredential> {
  const { accessToken, version, secrets } = await freshToken(connectionId, refused)
  return { apply: inHeader(injection, accessToken), version, renews: version, secrets }
}
