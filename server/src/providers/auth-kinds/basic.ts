/** `basic`: a user name and a password (RFC 7617), in UTF-8. Some providers take a key as one of the two. */
import { memberNamed } from '../auth-method.ts'
import type { AuthKind } from './auth-kind.ts'

export const basic: AuthKind = {
  defaultMembers: [memberNamed('username', { secret: false }), memberNamed('password')],
  inject: [
    {
      ...{ in: 'header', name: 'authorization', template: 'Basic {base64({username}:{password})}' },
      ...{ hosts: null, paths: null },
    },
  ],
  assertMember: (name, value) =>
    name === 'username' && value.includes(':') ? 'contains a colon, which would end the user name' : undefined,
  mayBeEmpty: true,
}
