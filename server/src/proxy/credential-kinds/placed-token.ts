/** `github_app`: an issued token, renewed when due, which goes where the kind says. */
import type { FreshTokenOf } from '../../connections/fresh-token.ts'
import type { FormMethod } from '../../providers/auth-kinds/auth-kind.ts'
import { injectorOf } from '../../providers/injector.ts'
import type { OpenedCredential } from '../credentials.ts'

export async function openPlacedToken(
  freshToken: FreshTokenOf,
  connectionId: string,
  method: FormMethod,
  refused?: number,
): Promise<OpenedCredential> {
  const { accessToken, version, secrets } = await freshToken(connectionId, refused)
  const { apply, derived } = injectorOf(method).withValues({ token: accessToken })
  return { apply, version, renews: version, secrets: [...secrets, ...derived] }
}
