/** What a person copies for an agent's tools. None of it contains a credential. */
import type { Grant } from '@sallyport/sdk'

/** What the tool's own command stands for. */
export function runCommand({ grant_id: id }: Pick<Grant, 'grant_id'>): string {
  return `sallyport run --grant ${id} -- command`
}

/** One for each host that the grant names: a wildcard is no host. */
export function baseUrlsOf(
  { grant_id: id, allowed_hosts: hosts }: Pick<Grant, 'grant_id' | 'allowed_hosts'>,
  origin: string,
): string[] {
  return hosts.filter((host) => !host.startsWith('*.')).map((host) => `${origin}/v4/proxy/${id}/${host}`)
}

/** As Claude Desktop, Cursor and most others read it. */
export function mcpConfig(profile?: string): string {
  const args = ['mcp', ...(profile === undefined ? [] : ['--profile', profile])]
  return `{
  "mcpServers": {
    "sallyport": { "command": "sallyport", "args": [${args.map((arg) => JSON.stringify(arg)).join(', ')}] }
  }
}`
}
