/** Names of methods and of what they ask for, and errors of the service in the words of the form. */
import { SallyportError } from '@sallyport/sdk'
import type { Member, Method } from './connectable.ts'

const kinds: Record<string, [title: string, noun: string]> = {
  api_key: ['API key', 'key'],
  aws_sigv4: ['Access key', 'access key'],
  basic: ['User name and password', 'password'],
  client_credentials: ['Client ID and secret', 'client secret'],
  github_app: ['GitHub App', 'private key'],
  google_service_account: ['Service account', 'key file'],
}

/** What the user gets from the provider: `key`, `password`. */
export function nounOf(method: Method | undefined): string {
  return (method && kinds[method.kind]?.[1]) ?? 'credential'
}

export function titleOf({ kind, label, name }: Method, providerName: string): string {
  if (kind === 'oauth2') return `Sign in with ${providerName}`
  return label ?? kinds[kind]?.[0] ?? words(name)
}

const members: Record<string, string> = {
  api_key: 'API key',
  username: 'User name',
  client_id: 'Client ID',
  app_id: 'App ID',
  installation_id: 'Installation ID',
  key_json: 'Key file (JSON)',
  private_key: 'Private key (PEM)',
}

export function labelOf({ name, label }: Member, method: Method): string {
  const isOnlySecret = method.members.filter(({ secret }) => secret).length === 1
  return label ?? (isOnlySecret && name === 'api_key' ? method.label : null) ?? members[name] ?? words(name)
}

/** `account_sid` becomes `Account sid`. */
function words(name: string): string {
  const text = name.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The host that a member names: `acme.zendesk.com`. */
export function hostNamed({ name, host }: Member, value: string): string | undefined {
  return host?.replace(`{${name}}`, value.trim() === '' ? '…' : value.trim().toLowerCase())
}

export interface Fault {
  /** The member at fault. Undefined if it is the credential as a whole. */
  member: string | undefined
  text: string
}

/** What the service refused, or undefined if the credential is not the reason. */
export function faultOf(
  problem: unknown,
  method: Method,
  /** The provider's name, and what a conflict about the account means. */
  { name, conflict }: { name: string; conflict: string },
): Fault | undefined {
  if (!(problem instanceof SallyportError) || problem.field === undefined) return undefined
  const { field, code, message, upstreamStatus } = problem
  const noun = nounOf(method)
  if (field === 'credential') {
    const secrets = method.members.filter(({ secret, optional }) => secret && !optional)
    const member = secrets.length === 1 ? secrets[0]?.name : undefined
    if (code === 'credential_refused') {
      const status = upstreamStatus === undefined ? '' : ` It answered with status ${upstreamStatus}.`
      return { member, text: `${name} didn’t accept this ${noun}.${status} Nothing was stored.` }
    }
    if (code === 'provider_unavailable') {
      return { member, text: `${name} couldn’t be asked about this ${noun}, so nothing was stored. Try again later.` }
    }
    return { member, text: code === 'conflict' ? conflict : message }
  }
  const named = method.members.find(({ name }) => field === `credential.${name}`)
  return named && { member: named.name, text: message.replaceAll(`"${field}"`, labelOf(named, method)) }
}
