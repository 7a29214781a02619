/**
 * The environment of a run's command: how it reaches the run's listener, whom it trusts, and placeholders where its tools
 * look for credentials. Nothing of ours that is secret is in it but the listener's credential. Pure.
 */
import type { Grant } from '@sallyport/sdk'
import { gitVariables } from './git-config.ts'
import { trustStorePassword } from './java-trust-store.ts'
import { placeholdersFor } from './placeholders.ts'
import type { GrantedProvider } from './placeholders.ts'
import type { OtherHosts } from './target.ts'
import type { Trust } from './trust.ts'

type Environment = Record<string, string | undefined>

export interface RunFacts {
  proxyUrl: string
  otherHosts: OtherHosts
  trust: Trust
  /** Java can't send a credential to a proxy: it has a port of its own. */
  javaPort: number | undefined
  /** With a `config.yml` that names our Unix socket. */
  ghConfigFolder: string | undefined
  grants: readonly Grant[]
  providers: readonly GrantedProvider[]
}

export interface RunEnvironment {
  /** What the command gets beside the rest of the environment. */
  set: Record<string, string>
  /** What it does not get, though it was set. */
  removed: string[]
  /** Variables with a value that a placeholder replaces. */
  replaced: string[]
}

/** They turn verification off, lead past the listener, or ask people for a credential. Compared in upper case. */
const unwanted = [
  ...['ALL_PROXY', 'NPM_CONFIG_PROXY', 'NPM_CONFIG_HTTPS_PROXY', 'NPM_CONFIG_NOPROXY', 'PIP_PROXY', 'YARN_HTTPS_PROXY'],
  ...['NODE_TLS_REJECT_UNAUTHORIZED', 'GIT_SSL_NO_VERIFY', 'PYTHONHTTPSVERIFY', 'NPM_CONFIG_STRICT_SSL'],
  ...['YARN_ENABLE_STRICT_SSL', 'YARN_STRICT_SSL', 'PIP_TRUSTED_HOST', 'UV_INSECURE_HOST'],
  ...['GIT_ASKPASS', 'SSH_ASKPASS'],
]
const ours = /^SALLYPORT_/i

export function runEnvironment(env: Environment, facts: RunFacts): RunEnvironment {
  const { proxyUrl, otherHosts, trust, javaPort, ghConfigFolder, grants, providers } = facts
  const placeholders = Object.entries(placeholdersFor(providers))
  const noProxy = unproxied(grants)
  const both = (name: string, value: string) => ({ [name]: value, [name.toLowerCase()]: value })
  const set = {
    ...both('HTTPS_PROXY', proxyUrl),
    ...(otherHosts === 'deny' && both('HTTP_PROXY', proxyUrl)),
    ...both('NO_PROXY', noProxy.join(',')),
    NODE_USE_ENV_PROXY: '1',
    ...trust.variables,
    ...gitVariables(env, grants),
    ...(ghConfigFolder !== undefined && { GH_CONFIG_DIR: ghConfigFolder }),
    JAVA_TOOL_OPTIONS: javaOptions(env['JAVA_TOOL_OPTIONS'], { trust, javaPort, otherHosts, noProxy }),
    ...Object.fromEntries(placeholders.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
  }
  const takenAway = new Set(placeholders.flatMap(([name, value]) => (value === undefined ? [name] : [])))
  const has = (name: string) => Object.hasOwn(set, name)
  const removed = Object.keys(env).filter((name) => {
    const upper = name.toUpperCase()
    const isOtherCase = upper.startsWith('NPM_CONFIG_') && has(upper) && !has(name)
    return ours.test(name) || unwanted.includes(upper) || takenAway.has(name) || isOtherCase
  })
  const replaced = placeholders.flatMap(([name, value]) => (value !== undefined && env[name] ? [name] : []))
  return { set, removed: removed.filter((name) => env[name] !== undefined), replaced }
}

interface JavaFacts {
  trust: Trust
  javaPort: number | undefined
  otherHosts: OtherHosts
  noProxy: readonly string[]
}

/** This machine's names, but those of grants: an API on this machine, as the demo's, is reached through the gateway too. */
function unproxied(grants: readonly Grant[]): string[] {
  const granted = grants.flatMap(({ allowed_hosts }) => allowed_hosts.map((host) => host.replace(/:\d+$/, '')))
  return ['localhost', '127.0.0.1', '::1'].filter((host) => !granted.includes(host) && !granted.includes(`[${host}]`))
}

/** Java reads neither the variables for proxies nor those for certificates. */
function javaOptions(given: string | undefined, { trust, javaPort, otherHosts, noProxy }: JavaFacts): string {
  const store = { trustStore: trust.javaTrustStore, trustStoreType: 'JKS', trustStorePassword }
  const schemes = javaPort === undefined ? [] : otherHosts === 'deny' ? ['https', 'http'] : ['https']
  return [
    ...(given ? [given] : []),
    ...Object.entries(store).map(([name, value]) => `-Djavax.net.ssl.${name}=${value}`),
    ...schemes.flatMap((scheme) => [`-D${scheme}.proxyHost=127.0.0.1`, `-D${scheme}.proxyPort=${javaPort ?? ''}`]),
    // It is the setting for https as well.
    `-Dhttp.nonProxyHosts=${noProxy.map((host) => (host.includes(':') ? `[${host}]` : host)).join('|')}`,
  ].join(' ')
}

/** The whole environment of the command. */
export function applied(env: Environment, { set, removed }: RunEnvironment): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) => value !== undefined && !removed.includes(name))
  return { ...(Object.fromEntries(kept) as Record<string, string>), ...set }
}
