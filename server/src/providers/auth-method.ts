import type { AuthMethodDetails } from '@sallyport/protocol/auth-methods'

/** A way in which a provider's API can be authenticated. Checked, and the same for the life of the provider. */
export type AuthMethod = Omit<AuthMethodDetails, 'checks'>

export type CredentialMember = AuthMethod['members'][number]
/** Where a credential goes in a call. */
export type CredentialPlace = AuthMethod['inject'][number]
export type CredentialCheck = NonNullable<AuthMethod['check']>

/** On one line, and required. */
export function memberNamed(name: string, more: Partial<CredentialMember> = {}): CredentialMember {
  const usual = { label: null, secret: true, optional: false, format: 'text' as const, pattern: null, host: null }
  return { name, ...usual, ...more }
}

export const oauth2Method: AuthMethod = {
  ...{ kind: 'oauth2', name: 'oauth2', label: null, help: null },
  ...{ members: [], inject: [], check: null },
}

/** As stored, and as the migration sets it. */
export const oauth2Alone = JSON.stringify([oauth2Method])

/** Whether an account can be connected without an OAuth client. */
export function hasFormMethod({ authMethods }: { authMethods: readonly AuthMethod[] }): boolean {
  return authMethods.some(({ kind }) => kind !== 'oauth2')
}

export function hasOAuth2({ authMethods }: { authMethods: readonly AuthMethod[] }): boolean {
  return authMethods.some(({ kind }) => kind === 'oauth2')
}

/** The member that says at which host the account is. */
export function hostMember({ members }: AuthMethod): (CredentialMember & { host: string }) | undefined {
  return members.find((member): member is CredentialMember & { host: string } => member.host !== null)
}
