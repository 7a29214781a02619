/** `api_key`: secrets of any number, each sent where the provider's templates say. */
import { memberNamed } from '../auth-method.ts'
import type { AuthKind } from './auth-kind.ts'

export const apiKey: AuthKind = {
  defaultMembers: [memberNamed('api_key')],
  inject: 'required',
  // Most of them go into headers and URLs as they are.
  assertMember: (_name, value) => (/^[\x20-\x7e]*$/.test(value) ? undefined : 'contains a character that is not ASCII'),
  mayBeEmpty: false,
}
