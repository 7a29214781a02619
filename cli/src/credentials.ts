/**
 * Which service a command talks to, and with which token. A profile's token is sent only to that profile's service, and
 * no token is sent over plain http to another machine.
 */
import { exitCodes } from './exit-codes.ts'
import { CommandFailure, usageError } from './failures.ts'
import { openPrivateTokens } from './private-tokens.ts'
import type { PrivateToken } from './private-tokens.ts'
import { openProfiles } from './profiles.ts'
import type { Profile } from './profiles.ts'
import type { Shell } from './shell.ts'
import { inLine } from './terminal-text.ts'

export type Role = 'agent' | 'admin' | 'user'

const usualUrl = 'http://localhost:8787'
const variables: Record<Role, string> = {
  agent: 'SALLYPORT_AGENT_TOKEN',
  admin: 'SALLYPORT_ADMIN_TOKEN',
  user: 'SALLYPORT_SESSION_TOKEN',
}

export interface Address {
  baseUrl: string
  /** Where the URL comes from: an option, a variable or a profile. */
  from: string
}

type Asking = Pick<Shell, 'env' | 'platform' | 'home' | 'profile' | 'url'>

export function addressOf(shell: Asking): Address {
  const profiles = openProfiles(shell)
  if (shell.url !== undefined) return { baseUrl: checkedUrl(shell.url, '--url'), from: '--url' }
  const fromEnvironment = shell.env['SALLYPORT_URL']
  if (fromEnvironment) return { baseUrl: checkedUrl(fromEnvironment, 'SALLYPORT_URL'), from: 'SALLYPORT_URL' }
  const profile = profiles.read()
  if (profile) return { baseUrl: checkedUrl(profile.url, 'its URL'), from: `profile ${profiles.name}` }
  mustBeKnown(shell, profiles)
  return { baseUrl: usualUrl, from: 'default' }
}

/** For commands that create a profile: it need not exist yet. */
export function addressForNew(shell: Asking): Address {
  const isKnown = shell.env['SALLYPORT_URL'] || openProfiles(shell).read() !== undefined
  if (isKnown || shell.url !== undefined) return addressOf(shell)
  return { baseUrl: usualUrl, from: 'default' }
}

export interface Credential extends Address {
  token: string
  tokenFrom: string
  /** In a file of this profile. */
  isStored: boolean
}

/** Undefined if there is no token for this role. */
export function findCredential(shell: Asking, role: Role): Credential | undefined {
  const address = addressOf(shell)
  const variable = variables[role]
  const fromEnvironment = shell.env[variable]?.trim()
  if (fromEnvironment)
    return { ...address, token: checkedToken(fromEnvironment, variable), tokenFrom: variable, isStored: false }
  const profiles = openProfiles(shell)
  const kept = role === 'agent' ? agentTokenIn(profiles.read()) : openPrivateTokens(shell, role).read(profiles.name)
  if (!kept) return undefined
  const { url, token } = kept
  if (new URL(url).origin !== new URL(address.baseUrl).origin) {
    throw new CommandFailure(
      exitCodes.credential,
      `profile "${profiles.name}" is for ${inLine(url)}; its tokens are not sent to ${address.baseUrl}`,
      { hint: `Create a profile for it: sallyport register NAME --url ${address.baseUrl} --profile OTHER` },
    )
  }
  const tokenFrom = `profile ${profiles.name}`
  return { ...address, token: checkedToken(token, tokenFrom), tokenFrom, isStored: true }
}

export function credentialOf(shell: Asking, role: Role): Credential {
  const found = findCredential(shell, role)
  if (found) return found
  const { name } = openProfiles(shell)
  const how = {
    agent: 'Register one: sallyport register NAME. Or set SALLYPORT_AGENT_TOKEN.',
    admin: 'Save one: sallyport profile set --admin-token-file FILE. Or set SALLYPORT_ADMIN_TOKEN.',
    user: 'Sign in: sallyport login. An administrator can name the user instead: --user EMAIL.',
  }
  const article = { agent: 'an agent token', admin: 'an admin token', user: 'a signed-in user' }
  throw new CommandFailure(exitCodes.credential, `this needs ${article[role]}, and profile "${name}" has none`, {
    hint: how[role],
  })
}

function agentTokenIn(profile: Profile | undefined): PrivateToken | undefined {
  return profile?.agent && { url: profile.url, token: profile.agent.access_token }
}

/** A profile that was named explicitly has to exist. The default one is created by the first `register`. */
function mustBeKnown({ profile, env }: Asking, { name, list }: ReturnType<typeof openProfiles>): void {
  if (profile === undefined && !env['SALLYPORT_PROFILE']) return
  const known = list().join(', ')
  throw new CommandFailure(
    exitCodes.credential,
    `no profile "${name}"${known === '' ? '' : ` (available: ${known})`}`,
    { hint: `Create it: sallyport register NAME --profile ${name} --url URL` },
  )
}

export function checkedUrl(text: string, name: string): string {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw usageError(`${name}: got "${inLine(text)}"; expected an address such as https://sallyport.example.com`)
  }
  const isBare =
    url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  if (!/^https?:$/.test(url.protocol) || !isBare) {
    // Don't echo a URL with a user name: it may contain a password.
    const got = url.username === '' && url.password === '' ? `got "${inLine(text)}"; ` : ''
    throw usageError(`${name}: ${got}expected an http or https address without a path or user name`)
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw usageError(`${name}: plain http is allowed only for this machine; use https for ${url.host}`)
  }
  return url.origin
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(host)
}

export function checkedToken(token: string, name: string): string {
  if (/^[\x21-\x7e]{8,500}$/.test(token)) return token
  throw new CommandFailure(exitCodes.credential, `${name} is not a valid token`)
}
