/**
 * `google_service_account`: the key file of a service account. Its key signs the assertion for which Google issues a
 * token (RFC 7523), at the token endpoint of the provider. The endpoint that the file names is never called.
 */
import { OAuthRefused } from '../../platform/oauth/oauth-client.ts'
import { Secret } from '../../platform/secret.ts'
import { memberNamed } from '../auth-method.ts'
import { textOfMember } from '../injector.ts'
import type { CredentialValues } from '../injector.ts'
import type { AuthKind } from './auth-kind.ts'
import type { Minting } from './minting.ts'
import { normalPrivateKey, signAssertion, wrongPrivateKey } from './private-key.ts'
import { askForJson, minted, undecided, wrongClock } from './token-request.ts'

export const googleTokenUrl = 'https://oauth2.googleapis.com/token'

const emailAddress = /^[!-?A-~]{1,100}@[\w.-]{1,200}$/

interface KeyFile {
  client_email: string
  private_key: string
  private_key_id: string
}

/** Of other files that Google's tools write, by what they have. */
const otherFiles: readonly [isIt: (file: Record<string, unknown>) => boolean, what: string][] = [
  [(file) => 'web' in file || 'installed' in file, 'the file of an OAuth client'],
  [({ type }) => type === 'authorized_user', 'the file of a user who has signed in with gcloud'],
  [({ type }) => type === 'external_account', 'the file of a workload identity federation'],
  [({ type }) => type === 'impersonated_service_account', 'the file of an impersonated service account'],
]

const whereFrom = 'Enter the key file of a service account: in Google Cloud, open it and choose Keys > Add key > JSON'

function wrongFile(text: string): string | undefined {
  const file = parse(text)
  if (!file) return `is not a JSON file. ${whereFrom}`
  const other = otherFiles.find(([isIt]) => isIt(file))
  if (other) return `is ${other[1]}. ${whereFrom}`
  if (file['type'] !== 'service_account') return `does not have the type "service_account". ${whereFrom}`
  const missing = ['client_email', 'private_key', 'private_key_id'].find((name) => typeof file[name] !== 'string')
  if (missing !== undefined) return `has no "${missing}". ${whereFrom}`
  const { client_email, private_key, private_key_id } = file as unknown as KeyFile
  if (!emailAddress.test(client_email)) return 'has a "client_email" that is not the address of a service account'
  if (!/^[\w-]{1,100}$/.test(private_key_id)) return 'has a "private_key_id" that is not the ID of a key'
  const wrong = wrongPrivateKey(private_key)
  return wrong === undefined ? undefined : `has a "private_key" that ${wrong}`
}

/** Nothing else of the file is stored. */
function keptOf(text: string): string {
  const { client_email, private_key, private_key_id } = JSON.parse(text) as KeyFile
  return JSON.stringify({ client_email, private_key: normalPrivateKey(private_key), private_key_id })
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function wrongScopes(text: string): string | undefined {
  const isScope = (one: string) => /^[!#-[\]-~]+$/.test(one)
  return scopesIn(text).every(isScope) && scopesIn(text).length > 0
    ? undefined
    : 'is not a list of scopes, such as: https://www.googleapis.com/auth/drive.readonly'
}

function scopesIn(text: string): string[] {
  return text.split(/[ ,]/).filter((one) => one !== '')
}

function fileOf(values: CredentialValues): KeyFile {
  return JSON.parse(values['key_json']?.reveal() ?? '{}') as KeyFile
}

const mint: Minting['mint'] = async (needs, source) => {
  const { provider, values } = source
  const url = provider.metadata.token_endpoint ?? googleTokenUrl
  const { client_email, private_key, private_key_id } = fileOf(values)
  const scopes = scopesIn(textOfMember(values, 'scopes'))
  const assertion = signAssertion(
    { privateKey: new Secret(private_key), keyId: private_key_id },
    {
      ...{ iss: client_email, aud: url, scope: scopes.join(' ') },
      ...(values['subject'] && { sub: textOfMember(values, 'subject') }),
    },
    needs.clock(),
  )
  const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  const body = new URLSearchParams({ grant_type, assertion: assertion.jwt.reveal() })
  const { status, body: answer } = await askForJson(needs, source, url, { method: 'POST', body })
  if (status === 200) {
    const { access_token, expires_in, token_type } = answer
    if (String(token_type).toLowerCase() !== 'bearer') throw undecided('another type of token')
    const expiresInSeconds = typeof expires_in === 'number' ? expires_in : undefined
    return minted(access_token, { expiresInSeconds, scopes }, assertion)
  }
  const { error, error_description } = answer
  // An invalid_grant too, but the key is not to blame.
  if (/\b(?:iat and exp|timeframe)\b/.test(String(error_description))) throw wrongClock()
  throw new OAuthRefused(typeof error === 'string' ? error : 'refused', status)
}

export const googleServiceAccount: AuthKind = {
  defaultMembers: [
    memberNamed('key_json', { label: 'Key file', format: 'json' }),
    memberNamed('scopes', { label: 'Scopes', secret: false }),
    memberNamed('subject', { label: 'User to act for', secret: false, optional: true }),
  ],
  inject: [],
  tokenUrl: googleTokenUrl,
  assertMember: (name, value) => {
    if (name === 'key_json') return wrongFile(value)
    if (name === 'scopes') return wrongScopes(value)
    return emailAddress.test(value) ? undefined : 'is not the e-mail address of a user'
  },
  normalize: (name, value) => (name === 'key_json' ? keptOf(value) : value),
  mayBeEmpty: false,
  minting: {
    mint,
    /** A service account acts for itself, or for each user as another account. */
    account: (_needs, { values }) => {
      const { client_email } = fileOf(values)
      const subject = values['subject'] && textOfMember(values, 'subject')
      const name = subject === undefined ? client_email : `${subject} (${client_email})`
      return { id: name, label: name.slice(0, 200) }
    },
  },
}
