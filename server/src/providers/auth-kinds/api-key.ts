/** `api_key`: secrets of any number, each sent where the provider's templates say. */
import type { AuthKind } from './auth-kind.ts'

export const apiKey: AuthKind = {
  defaultMembers: [{ name: 'api_key', label: null, secret: true, pattern: null, host: null }],
  inject: 'required',
  // Most of them go into headers and URLs as they are.
  assertMember: (_name, value) => (/^[\x20-\x7e]*$/.test(value) ? undefined : 'contains a character that is not ASCII'),
  isMinted: false,
  mayBeEmpty: false,
}
