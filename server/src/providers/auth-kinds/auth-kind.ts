import type { AuthMethod, CredentialMember, CredentialPlace } from '../auth-method.ts'
import { apiKey } from './api-key.ts'
import { basic } from './basic.ts'
import { clientCredentials } from './client-credentials.ts'

/** What is particular to a kind whose credential a person enters. */
export interface AuthKind {
  /** The members of a credential, unless the method names its own. */
  defaultMembers: readonly CredentialMember[]
  /** Where the credential goes. `required`: the method has to say so. */
  inject: 'required' | readonly CredentialPlace[]
  /** Calls carry a token that is issued for the credential, and renewed when due. */
  isMinted: boolean
  /** What is wrong with the value of a member, if something is. */
  assertMember: (name: string, value: string) => string | undefined
  /** Whether a member may be empty, as long as one secret is not. */
  mayBeEmpty: boolean
}

const kinds: Record<Exclude<AuthMethod['kind'], 'oauth2'>, AuthKind> = {
  api_key: apiKey,
  basic,
  client_credentials: clientCredentials,
}

export function authKindOf(kind: Exclude<AuthMethod['kind'], 'oauth2'>): AuthKind {
  return kinds[kind]
}

/** Whose credentials people enter in a form. */
export type FormMethod = AuthMethod & { kind: Exclude<AuthMethod['kind'], 'oauth2'> }

export function isFormMethod(method: AuthMethod): method is FormMethod {
  return method.kind !== 'oauth2'
}

/** For which a token is issued, and renewed under the same lease as those of OAuth. */
export function isMintedMethod(method: AuthMethod): boolean {
  return isFormMethod(method) && authKindOf(method.kind).isMinted
}
