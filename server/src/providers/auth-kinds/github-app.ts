/**
 * `github_app`: the private key of a GitHub App. It signs the assertion for which GitHub issues a token of one
 * installation, for an hour. Calls carry that token; the assertion goes to GitHub's token endpoint and nowhere else.
 */
import { OAuthRefused } from '../../platform/oauth/oauth-client.ts'
import { Secret } from '../../platform/secret.ts'
import { assertListed } from '../api-hosts.ts'
import { memberNamed } from '../auth-method.ts'
import { textOfMember } from '../injector.ts'
import type { CredentialValues } from '../injector.ts'
import type { AuthKind } from './auth-kind.ts'
import type { Account, MintNeeds, Minting, MintSource } from './minting.ts'
import { normalPrivateKey, signAssertion, wrongPrivateKey } from './private-key.ts'
import type { Assertion } from './private-key.ts'
import { askForJson, minted, undecided, wrongClock } from './token-request.ts'

export const githubApi = 'https://api.github.com'

const patterns: Readonly<Record<string, [pattern: RegExp, wrong: string]>> = {
  app_id: [/^(?:\d{1,20}|Iv[\w.]{8,60})$/, 'is not the ID of an app, such as 123456. Its settings show it'],
  installation_id: [
    /^\d{1,20}$/,
    'is not the ID of an installation, such as 12345678. It is the end of the URL of the installation’s settings',
  ],
}

/** Of each in a list. */
const listPatterns: typeof patterns = {
  repositories: [
    /^[\w.-]{1,100}$/,
    'is not a list of repositories. Write their names without the owner, such as: website, docs',
  ],
  permissions: [
    /^[a-z_]{1,39}:(?:read|write|admin)$/,
    'is not a list of permissions. Write names and levels, such as: contents:read, issues:write',
  ],
}

/** As in `deadCredential`: a wrong key, a missing right, an installation that is gone, or one that lacks what is asked. */
const refusals: Readonly<Record<number, string>> = {
  401: 'invalid_client',
  403: 'access_denied',
  404: 'invalid_grant',
  422: 'invalid_scope',
}

const mint: Minting['mint'] = async (needs, source) => {
  const { values } = source
  const assertion = signAssertion(
    { privateKey: values['private_key'] ?? new Secret('') },
    { iss: textOfMember(values, 'app_id') },
    needs.clock(),
  )
  const wanted = JSON.stringify({
    ...(values['repositories'] && { repositories: listIn(textOfMember(values, 'repositories')) }),
    ...(values['permissions'] && { permissions: permissionsIn(values) }),
  })
  const answer = await askApp(needs, source, assertion, { path: '/access_tokens', method: 'POST', body: wanted })
  const expires = Date.parse(String(answer['expires_at']))
  if (Number.isNaN(expires)) throw undecided('no expires_at')
  const expiresInSeconds = Math.floor((expires - needs.clock().getTime()) / 1000)
  return minted(answer['token'], { expiresInSeconds, scopes: grantedIn(answer['permissions']) }, assertion)
}

/** The app on the organization or user that has installed it. Another app there is another account. */
const account: Minting['account'] = async (needs, source, { assertion }): Promise<Account> => {
  if (!assertion) throw undecided('no assertion')
  const { account, app_id, app_slug } = await askApp(needs, source, assertion, { path: '', method: 'GET' })
  const { id, login, slug } = (account ?? {}) as Record<string, unknown>
  if (typeof id !== 'number' || typeof app_id !== 'number') throw undecided('no account')
  const [owner, app] = [login ?? slug, app_slug].map((name) => (isName(name) ? name : undefined))
  const label = [owner, app && `(${app})`].filter((part) => part !== undefined).join(' ')
  return { id: `${id} ${app_id}`, label: label === '' ? null : label }
}

/** A token or an assertion is longer. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,39}$/.test(value)
}

async function askApp(
  needs: MintNeeds,
  source: MintSource,
  { jwt }: Assertion,
  { path, method, body }: { path: string; method: string; body?: string },
): Promise<Readonly<Record<string, unknown>>> {
  const url = `${source.method.api_url ?? githubApi}/app/installations/${textOfMember(source.values, 'installation_id')}`
  assertListed(source.provider, new URL(url).host)
  const answer = await askForJson(needs, source, `${url}${path}`, {
    method,
    headers: {
      ...{ authorization: `Bearer ${jwt.reveal()}`, accept: 'application/vnd.github+json' },
      'x-github-api-version': '2022-11-28',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  })
  if (answer.status >= 200 && answer.status < 300) return answer.body
  const message = String(answer.body['message'])
  if (/claim \('(?:exp|iat)'\)/.test(message)) throw wrongClock()
  const isRateLimited =
    answer.headers.has('retry-after') ||
    answer.headers.get('x-ratelimit-remaining') === '0' ||
    message.includes('rate limit')
  if (answer.status === 403 && isRateLimited) throw undecided('rate limit')
  throw new OAuthRefused(refusals[answer.status] ?? 'refused', answer.status)
}

function listIn(text: string): string[] {
  return text.split(/[ ,]/).filter((one) => one !== '')
}

function permissionsIn(values: CredentialValues): Record<string, string> {
  const listed = listIn(textOfMember(values, 'permissions'))
  return Object.fromEntries(listed.map((one) => one.split(':') as [string, string]))
}

function grantedIn(permissions: unknown): string[] | undefined {
  if (typeof permissions !== 'object' || permissions === null) return undefined
  return Object.entries(permissions)
    .map(([name, level]) => `${name}:${level}`)
    .filter((one) => listPatterns['permissions']?.[0].test(one))
}

export const githubApp: AuthKind = {
  defaultMembers: [
    memberNamed('app_id', { label: 'App ID', secret: false }),
    memberNamed('installation_id', { label: 'Installation ID', secret: false }),
    memberNamed('private_key', { label: 'Private key', format: 'pem' }),
    memberNamed('repositories', { label: 'Only these repositories', secret: false, optional: true }),
    memberNamed('permissions', { label: 'Only these permissions', secret: false, optional: true }),
  ],
  // Git over https takes the token as a password.
  inject: [
    {
      ...{ in: 'header', name: 'authorization', template: 'Basic {base64(x-access-token:{token})}', hosts: null },
      paths: ['/*/*/info/refs', '/*/*/git-upload-pack', '/*/*/git-receive-pack'],
    },
    { in: 'header', name: 'authorization', template: 'Bearer {token}', hosts: null, paths: null },
  ],
  preset: 'github',
  assertMember: (name, value) => {
    if (name === 'private_key') return wrongPrivateKey(value)
    const list = listPatterns[name]
    const [pattern, wrong] = list ?? patterns[name] ?? []
    const parts = list ? listIn(value) : [value]
    return parts.length > 0 && parts.every((part) => pattern?.test(part)) ? undefined : wrong
  },
  normalize: (name, value) => (name === 'private_key' ? normalPrivateKey(value) : value),
  mayBeEmpty: false,
  minting: { mint, account },
}
