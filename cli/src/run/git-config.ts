/** Configuration for git in its environment (GIT_CONFIG_COUNT): for granted hosts only, beside what is configured. */
import type { Grant } from '@sallyport/sdk'
import { placeholderFor } from './placeholders.ts'

type Environment = Record<string, string | undefined>

export function gitVariables(env: Environment, grants: readonly Grant[]): Record<string, string> {
  const given = Number(env['GIT_CONFIG_COUNT'] ?? 0)
  const first = Number.isSafeInteger(given) && given > 0 ? given : 0
  const entries = [...hostsOf(grants)].flatMap(([host, covering]) => entriesFor(host, covering))
  const variables = entries.flatMap(([key, value], index): [string, string][] => [
    [`GIT_CONFIG_KEY_${first + index}`, key],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ])
  return {
    GIT_CONFIG_COUNT: String(first + entries.length),
    ...Object.fromEntries(variables),
    GIT_TERMINAL_PROMPT: '0',
  }
}

/** git can't be told about all hosts below a domain. */
function hostsOf(grants: readonly Grant[]): Map<string, Grant[]> {
  const hosts = new Map<string, Grant[]>()
  for (const grant of grants) {
    for (const host of grant.allowed_hosts.filter((one) => !one.startsWith('*.'))) {
      hosts.set(host, [...(hosts.get(host) ?? []), grant])
    }
  }
  return hosts
}

function entriesFor(host: string, grants: readonly Grant[]): [key: string, value: string][] {
  const url = `https://${host}/`
  const name = host.replace(/:\d+$/, '')
  const basic = Buffer.from(`x-access-token:${placeholderFor(grants)}`).toString('base64')
  return [
    [`url.${url}.insteadOf`, `git@${name}:`],
    [`url.${url}.insteadOf`, `ssh://git@${name}/`],
    // An empty value takes away what other files configure: helpers, and headers with a token.
    [`credential.${url}.helper`, ''],
    [`http.${url}.extraHeader`, ''],
    [`http.${url}.extraHeader`, `Authorization: Basic ${basic}`],
  ]
}
