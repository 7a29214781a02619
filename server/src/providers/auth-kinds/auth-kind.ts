import type { AuthMethod, CredentialMember, CredentialPlace } from '../auth-method.ts'
import { apiKey } from './api-key.ts'
import { basic } from './basic.ts'

/** What is particular to a kind whose credential a person enters. */
export interface AuthKind {
  /** The members of a credential, unless the method names its own. */
  defaultMembers: readonly CredentialMember[]
  /** Where the credential goes. `required`: the method has to say so. */
  inject: 'required' | readonly CredentialPlace[]
  /** What is wrong with the value of a member, if something is. */
  assertMember: (name: string, value: string) => string | undefined
  /** Whether a member may be empty, as long as one secret is not. */
  mayBeEmpty: boolean
}

const kinds: Record<Exclude<AuthMethod['kind'], 'oauth2'>, AuthKind> = { api_key: apiKey, basic }

export function authKindOf(kind: Exclude<AuthMethod['kind'], 'oauth2'>): AuthKind {
  return kinds[kind]
}

/** Whose credentials people enter in a form. */
export type FormMethod = AuthMethod & { kind: Exclude<AuthMethod['kind'], 'oauth2'> }

export function isFormMethod(method: AuthMethod): method is FormMethod {
  return method.kind !== 'oauth2'
}
