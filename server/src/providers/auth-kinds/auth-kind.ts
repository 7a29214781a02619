import type { AuthMethodForm } from '@sallyport/protocol/auth-methods'
import type { AuthMethod, CredentialMember, CredentialPlace } from '../auth-method.ts'
import { apiKey } from './api-key.ts'
import { awsSigv4 } from './aws-sigv4.ts'
import { basic } from './basic.ts'
import { clientCredentials } from './client-credentials.ts'
import { githubApp } from './github-app.ts'
import { googleServiceAccount } from './google-service-account.ts'
import type { CredentialValues } from '../injector.ts'
import type { Account, MintNeeds, Minting, MintSource } from './minting.ts'

/** What is particular to a kind whose credential a person enters. */
export interface AuthKind {
  /** The members of a credential, unless the method names its own. */
  defaultMembers: readonly CredentialMember[]
  /**
   * Where the credential goes. `required`: the method has to say so. In a kind for which tokens are issued, where the
   * `{token}` goes, if not into the header that the provider says.
   */
  inject: 'required' | readonly CredentialPlace[]
  /** The usual `token_url` of the provider, or `required` if it has to be given. Absent: tokens are not issued there. */
  tokenUrl?: string
  /** The preset whose rules apply wherever its API is. */
  preset?: string
  /** Calls carry a token that is issued for the credential. Absent: they carry the credential. */
  minting?: Minting
  /** Asks the provider whose a credential is, in a way of the kind's own. Throws as `mint` does. */
  identify?: (needs: MintNeeds, source: MintSource) => Promise<Account | undefined>
  /** What is wrong with the value of a member, if something is. */
  assertMember: (name: string, value: string) => string | undefined
  /** What is stored of a member's value, such as a file without the parts that are not used. Absent: all of it. */
  normalize?: (name: string, value: string) => string
  /** Whether a member may be empty, as long as one secret is not. */
  mayBeEmpty: boolean
}

const kinds: Record<Exclude<AuthMethod['kind'], 'oauth2'>, AuthKind> = {
  api_key: apiKey,
  aws_sigv4: awsSigv4,
  basic,
  client_credentials: clientCredentials,
  github_app: githubApp,
  google_service_account: googleServiceAccount,
}

export function authKindOf(kind: Exclude<AuthMethod['kind'], 'oauth2'>): AuthKind {
  return kinds[kind]
}

/** Whose credentials people enter in a form. */
export type FormMethod = AuthMethod & { kind: Exclude<AuthMethod['kind'], 'oauth2'> }

export function isFormMethod(method: AuthMethod): method is FormMethod {
  return method.kind !== 'oauth2'
}

/** Whether tokens can be issued for its credentials. */
export function isMintedMethod(method: AuthMethod): boolean {
  return isFormMethod(method) && authKindOf(method.kind).minting !== undefined
}

/** Whether calls carry an issued token in places that its kind decides. */
export function isPlacedToken(method: AuthMethod): method is FormMethod {
  return isMintedMethod(method) && method.inject.length > 0
}

/** Whether each call is signed, instead of carrying a credential. */
export function isSigned({ kind }: AuthMethod): boolean {
  return kind === 'aws_sigv4'
}

/** The preset whose rules apply to its API, if the kind is that of one provider. */
export function presetOfKind(method: AuthMethod): string | null {
  return (isFormMethod(method) ? authKindOf(method.kind).preset : undefined) ?? null
}

/** How a token is issued for these values. Undefined: calls carry the values themselves. */
export function mintingOf(method: AuthMethod, values: CredentialValues): Minting | undefined {
  const minting = isFormMethod(method) ? authKindOf(method.kind).minting : undefined
  return minting?.isFor?.(values) === false ? undefined : minting
}

/** What the provider can say about a credential when it is entered. A client for which tokens are issued is an account. */
export function checksOf(method: AuthMethod): AuthMethodForm['checks'] {
  if (method.check?.account || !isFormMethod(method) || isMintedMethod(method)) return 'account'
  return method.check ? 'validity' : 'nothing'
}
