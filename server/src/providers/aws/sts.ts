/**
 * What AWS's Security Token Service says of keys: whose they are, and temporary keys of a role. It is reached at the
 * endpoint that the provider lists for it, and at no other.
 */
import { ServiceError } from '../../platform/errors.ts'
import { OAuthRefused } from '../../platform/oauth/oauth-client.ts'
import { Secret } from '../../platform/secret.ts'
import { assertListed } from '../api-hosts.ts'
import type { MintNeeds, MintSource } from '../auth-kinds/minting.ts'
import { whoSuppliedTokenUrl } from '../auth-kinds/minting.ts'
import { signRequest } from './sign-request.ts'
import type { AwsKeys, Signable } from './sign-request.ts'
import { endpointOf } from './signing-scopes.ts'

type StsAnswer = (element: string) => string | undefined

/** As in `deadCredential`. Other refusals may end by themselves, such as those for a wrong clock. */
const refusals: Readonly<Record<string, string>> = {
  InvalidClientTokenId: 'invalid_client',
  UnrecognizedClientException: 'invalid_client',
  ExpiredToken: 'invalid_grant',
  ExpiredTokenException: 'invalid_grant',
  AccessDenied: 'access_denied',
}

/** The user or role that keys belong to. Undefined: the provider lists no endpoint that could tell. */
export async function callerOf(needs: MintNeeds, source: MintSource, keys: AwsKeys): Promise<string | undefined> {
  if (!stsOf(source)) return undefined
  const arn = (await askSts(needs, source, keys, { Action: 'GetCallerIdentity' }))('Arn')
  if (arn === undefined || !/^arn:[\w-]+:(?:iam|sts)::\d{12}:[\w+=,.@/:-]{1,600}$/.test(arn)) throw unreadable()
  // A session's name differs each time.
  return arn.replace(/^(arn:[\w-]+:sts::\d{12}:assumed-role\/[^/]+)\/.*$/, '$1')
}

export interface RoleKeys {
  keys: AwsKeys & { sessionToken: Secret }
  expiresInSeconds: number
}

export async function assumeRole(
  needs: MintNeeds,
  source: MintSource,
  keys: AwsKeys,
  { roleArn, externalId }: { roleArn: string; externalId: string | undefined },
): Promise<RoleKeys> {
  const answer = await askSts(needs, source, keys, {
    ...{ Action: 'AssumeRole', RoleArn: roleArn, RoleSessionName: 'sallyport', DurationSeconds: '3600' },
    ...(externalId !== undefined && { ExternalId: externalId }),
  })
  const [accessKeyId, secret, token] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map(answer)
  const expires = Date.parse(answer('Expiration') ?? '')
  if (accessKeyId === undefined || secret === undefined || token === undefined || Number.isNaN(expires)) {
    throw unreadable()
  }
  return {
    keys: { accessKeyId, secretAccessKey: new Secret(secret), sessionToken: new Secret(token) },
    expiresInSeconds: Math.floor((expires - needs.clock().getTime()) / 1000),
  }
}

function stsOf({ method }: MintSource) {
  return method.signs?.find(({ service }) => service === 'sts')
}

async function askSts(
  { egress, clock }: MintNeeds,
  source: MintSource,
  keys: AwsKeys,
  parameters: Record<string, string>,
): Promise<StsAnswer> {
  const entry = stsOf(source)
  if (!entry) throw new ServiceError('conflict', { message: 'This provider lists no "sts" in "signs".' })
  const { url, scope } = endpointOf(entry)
  assertListed(source.provider, url.host)
  const request: Signable = {
    ...{ method: 'POST', url },
    headers: [['content-type', 'application/x-www-form-urlencoded; charset=utf-8']],
    body: Buffer.from(new URLSearchParams({ ...parameters, Version: '2011-06-15' }).toString()),
  }
  await signRequest(request, keys, scope, clock())
  const response = await egress.fetch(whoSuppliedTokenUrl(source.provider))(request.url.href, {
    ...{ method: request.method, headers: request.headers, body: String(request.body) },
  })
  const text = await response.text()
  const answer: StsAnswer = (element) => textIn(text, element)
  if (response.ok) return answer
  const code = answer('Code') ?? ''
  if (response.status >= 500 || response.status === 429 || /^Throttl|^RequestLimit/.test(code)) {
    throw new ServiceError('provider_unavailable', { detail: `STS: status ${response.status}` })
  }
  throw new OAuthRefused(refusals[code] ?? code, response.status)
}

/** No value that STS gives contains a character that XML has to escape. */
function textIn(xml: string, element: string): string | undefined {
  const [, rest] = xml.split(`<${element}>`, 2)
  const text = rest?.slice(0, rest.indexOf('<'))
  return text !== undefined && /^[\w+=,.@/:-]{1,8192}$/.test(text) ? text : undefined
}

function unreadable(): ServiceError {
  return new ServiceError('provider_unavailable', { detail: 'STS: an answer that cannot be read' })
}
