/** `aws_sigv4`: signs each call, with the keys that a person has entered or with those of their role. */
import type { FreshTokenOf } from '../../connections/fresh-token.ts'
import { ServiceError } from '../../platform/errors.ts'
import { redacted } from '../../platform/secret.ts'
import type { Secret } from '../../platform/secret.ts'
import { mintingOf } from '../../providers/auth-kinds/auth-kind.ts'
import type { FormMethod } from '../../providers/auth-kinds/auth-kind.ts'
import { enteredKeys, unpackKeys } from '../../providers/auth-kinds/aws-sigv4.ts'
import { signatureHeaders, signRequest } from '../../providers/aws/sign-request.ts'
import type { AwsKeys } from '../../providers/aws/sign-request.ts'
import { chooseScope, scopesAt } from '../../providers/aws/signing-scopes.ts'
import type { OpenedCredential } from '../credentials.ts'
import type { Credential, Injects } from '../upstream.ts'
import { readEntered } from './entered.ts'
import type { EnteredNeeds } from './entered.ts'

export interface AwsNeeds extends EnteredNeeds {
  freshToken: FreshTokenOf
}

export async function openAws(
  needs: AwsNeeds,
  connectionId: string,
  method: FormMethod,
  refused?: number,
): Promise<OpenedCredential> {
  const { values, version, secrets } = await readEntered(needs, connectionId, method)
  const signWith = signing(needs, method)
  if (!mintingOf(method, values)) {
    return { apply: signWith(enteredKeys(values)), version, renews: undefined, secrets: secrets.flatMap(partsOf) }
  }
  const token = await needs.freshToken(connectionId, refused)
  return {
    ...{ apply: signWith(unpackKeys(token.accessToken)), version: token.version, renews: undefined },
    secrets: token.secrets.flatMap(partsOf),
  }
}

function signing({ clock }: Pick<EnteredNeeds, 'clock'>, { signs = [] }: FormMethod) {
  return (keys: AwsKeys): Credential['apply'] =>
    (request, chosen) => {
      // The token is sent along, so a part of the answer could contain half of it.
      const hasRange = request.headers.some(([name]) => name === 'range')
      if (hasRange && keys.sessionToken) throw new ServiceError('range_not_supported', { field: 'headers.range' })
      return signRequest(request, keys, chooseScope(scopesAt(signs, request.url.host), chosen), clock())
    }
}

/** Temporary keys are stored together. */
function partsOf(secret: Secret): Secret[] {
  if (!secret.matches(/^\["/)) return [secret]
  const { secretAccessKey, sessionToken } = unpackKeys(secret)
  return sessionToken ? [secretAccessKey, sessionToken] : [secretAccessKey]
}

const shown = { header: 'authorization', value: `AWS4-HMAC-SHA256 ${redacted}` }

export function awsInjects({ signs = [] }: FormMethod): Injects {
  return {
    headers: signatureHeaders,
    writtenIn: () => [],
    shownFor: ({ url }) => (scopesAt(signs, url.host).length > 0 ? shown : null),
  }
}
