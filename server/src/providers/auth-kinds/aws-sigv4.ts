/**
 * `aws_sigv4`: an access key, with which each call is signed. With `role_arn` calls are signed with temporary keys of
 * that role, which are issued for the access key.
 */
import { Secret } from '../../platform/secret.ts'
import { memberNamed } from '../auth-method.ts'
import type { AwsKeys } from '../aws/sign-request.ts'
import { assumeRole, callerOf } from '../aws/sts.ts'
import type { RoleKeys } from '../aws/sts.ts'
import { textOfMember } from '../injector.ts'
import type { CredentialValues } from '../injector.ts'
import type { AuthKind } from './auth-kind.ts'
import type { Minting } from './minting.ts'

const patterns: Readonly<Record<string, [pattern: RegExp, wrong: string]>> = {
  access_key_id: [/^\w{16,128}$/, 'is not the id of an access key, such as AKIAIOSFODNN7EXAMPLE'],
  role_arn: [
    /^arn:[a-z-]{3,20}:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/,
    'is not the ARN of a role, such as arn:aws:iam::123456789012:role/agent',
  ],
  external_id: [/^[\w+=,.@:/-]{2,1224}$/, 'contains a character that is not allowed in an external id'],
}
const anySecret: [RegExp, string] = [/^[!#-~]*$/, 'contains a blank, a quotation mark or a character that is not ASCII']

export function enteredKeys(values: CredentialValues): AwsKeys {
  return {
    accessKeyId: textOfMember(values, 'access_key_id'),
    secretAccessKey: values['secret_access_key'] ?? new Secret(''),
    sessionToken: values['session_token'],
  }
}

/** As stored for a role, in the place of an access token. */
function packKeys({ accessKeyId, secretAccessKey, sessionToken }: RoleKeys['keys']): Secret {
  return new Secret(JSON.stringify([accessKeyId, secretAccessKey.reveal(), sessionToken.reveal()]))
}

export function unpackKeys(packed: Secret): AwsKeys {
  const [accessKeyId = '', secret = '', token = ''] = JSON.parse(packed.reveal()) as string[]
  return { accessKeyId, secretAccessKey: new Secret(secret), sessionToken: new Secret(token) }
}

const minting: Minting = {
  isFor: (values) => values['role_arn'] !== undefined,
  mint: async (needs, source) => {
    const { values } = source
    const role = { roleArn: textOfMember(values, 'role_arn'), externalId: values['external_id']?.reveal() }
    const { keys, expiresInSeconds } = await assumeRole(needs, source, enteredKeys(values), role)
    return {
      ...{ accessToken: packKeys(keys), refreshToken: undefined, expiresInSeconds },
      ...{ scopes: undefined, claims: undefined, extra: {} },
    }
  },
  account: (_needs, { values }) => {
    const arn = textOfMember(values, 'role_arn')
    return { id: arn, label: labelOf(arn) }
  },
}

export const awsSigv4: AuthKind = {
  defaultMembers: [
    memberNamed('access_key_id', { secret: false }),
    memberNamed('secret_access_key'),
    memberNamed('session_token', { optional: true }),
    memberNamed('role_arn', { secret: false, optional: true }),
    memberNamed('external_id', { secret: false, optional: true }),
  ],
  inject: [],
  assertMember: (name, value) => {
    const [pattern, wrong] = patterns[name] ?? anySecret
    return pattern.test(value) ? undefined : wrong
  },
  mayBeEmpty: false,
  minting,
  identify: async (needs, source) => {
    const arn = await callerOf(needs, source, enteredKeys(source.values))
    return arn === undefined ? undefined : { id: arn, label: labelOf(arn) }
  },
}

/** `123456789012 user/ada` */
function labelOf(arn: string): string {
  const [, , , , account = '', ...resource] = arn.split(':')
  return `${account} ${resource.join(':')}`.slice(0, 200)
}
