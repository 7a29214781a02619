import { createAgentClient } from '@sallyport/sdk'
import { command } from '../command.ts'
import { addressForNew, addressOf, checkedToken, checkedUrl, findCredential } from '../credentials.ts'
import { usageError } from '../failures.ts'
import { readSecret } from '../input-files.ts'
import type { Column } from '../output.ts'
import { openPrivateTokens } from '../private-tokens.ts'
import { openProfiles } from '../profiles.ts'
import type { Profile } from '../profiles.ts'
import { inLine } from '../terminal-text.ts'

interface Listed {
  profile: string
  current: boolean
  url: string
  agent_id: string | null
  agent_name: string | null
  has_admin_token: boolean
}

const columns: Column<Listed>[] = [
  {
    title: 'PROFILE',
    shown: ({ profile, current }) => (current ? `${profile} *` : profile),
    exact: ({ profile }) => profile,
  },
  { title: 'URL', shown: ({ url }) => url },
  { title: 'AGENT', shown: ({ agent_name }) => agent_name ?? '-', exact: ({ agent_id }) => agent_id ?? '-' },
  { title: 'ADMIN', shown: ({ has_admin_token }) => (has_admin_token ? 'yes' : 'no') },
]

function listed(name: string, current: string, { url, agent }: Profile, has_admin_token: boolean): Listed {
  return {
    profile: name,
    current: name === current,
    url,
    agent_id: agent?.agent_id ?? null,
    agent_name: agent?.name ?? null,
    has_admin_token,
  }
}

export const profileList = command({
  name: 'profile list',
  group: 'setup',
  summary: 'list profiles: each is a service and your credentials for it',
  examples: [['sallyport profile', 'the current profile is marked with *']],
  run: async (shell) => {
    const { list, read, current } = openProfiles(shell)
    const admins = openPrivateTokens(shell, 'admin')
    const profiles = list().flatMap((name) => {
      const profile = read(name)
      return profile ? [listed(name, current(), profile, admins.read(name) !== undefined)] : []
    })
    if (shell.json) shell.output.json({ profiles })
    else shell.output.table(columns, profiles, 'No profiles. Create one: sallyport register NAME')
    return undefined
  },
})

export const whoami = command({
  name: 'whoami',
  group: 'setup',
  summary: 'show which service and tokens commands use, and where they come from',
  examples: [['sallyport whoami --profile work', 'never prints a token']],
  run: async (shell) => {
    const { name, folder } = openProfiles(shell)
    const { baseUrl, from } = addressOf(shell)
    const [agent, admin, user] = (['agent', 'admin', 'user'] as const).map((role) => findCredential(shell, role))
    const facts = {
      profile: name,
      folder: folder ?? null,
      url: baseUrl,
      url_from: from,
      agent_token_from: agent?.tokenFrom ?? null,
      admin_token_from: admin?.tokenFrom ?? null,
      session_token_from: user?.tokenFrom ?? null,
    }
    if (shell.json) shell.output.json(facts)
    else
      for (const [fact, value] of Object.entries(facts))
        shell.output.line(`${fact.replaceAll('_', ' ').padEnd(20)}${inLine(value ?? 'none')}`)
    return undefined
  },
})

export const profileSet = command({
  name: 'profile set',
  group: 'setup',
  summary: 'save a service URL or a token in a profile',
  about: `Tokens are read from a file or standard input, never from the command line, where other users could read them.
The admin token is stored in a separate file that agent commands and the MCP server never read.`,
  options: {
    'agent-token-file': { type: 'text', value: 'FILE', summary: 'file with the agent token; - for standard input' },
    'admin-token-file': { type: 'text', value: 'FILE', summary: 'file with the admin token; - for standard input' },
  },
  examples: [
    ['sallyport profile set --admin-token-file data/admin-token', 'for a service on this machine'],
    [
      'pass show sallyport | sallyport profile set --profile work --url https://sallyport.example.com --admin-token-file -',
      'from a password manager',
    ],
  ],
  run: async (shell, options) => {
    const profiles = openProfiles(shell)
    const former = profiles.read()
    const [agentFile, adminFile] = [options['agent-token-file'], options['admin-token-file']]
    if (shell.url === undefined && agentFile === undefined && adminFile === undefined) {
      throw usageError('nothing to set: use --url, --agent-token-file or --admin-token-file')
    }
    const url = shell.url === undefined ? (former?.url ?? addressForNew(shell).baseUrl) : checkedUrl(shell.url, '--url')
    const agentToken =
      agentFile === undefined
        ? undefined
        : checkedToken(await readSecret(shell, agentFile, '--agent-token-file'), '--agent-token-file')
    const adminToken =
      adminFile === undefined
        ? undefined
        : checkedToken(await readSecret(shell, adminFile, '--admin-token-file'), '--admin-token-file')
    const agent = agentToken === undefined ? undefined : await knownAgent(url, agentToken, shell.interrupted)
    // Never send one service's tokens to another.
    const kept = former?.url === url ? former : {}
    const admins = openPrivateTokens(shell, 'admin')
    profiles.stage().keep({ ...kept, url, ...(agent && { agent }) })
    if (adminToken !== undefined) admins.keep(profiles.name, { url, token: adminToken })
    else if (former?.url !== url) admins.remove(profiles.name)
    if (former?.url !== url) openPrivateTokens(shell, 'user').remove(profiles.name)
    if (shell.json) shell.output.json({ profile: profiles.name, url })
    else shell.output.say(`${shell.output.sayStyle('green', '✓')} Profile "${profiles.name}" saved for ${url}`)
    return undefined
  },
})

/** Checks the token with the service before it is stored. */
async function knownAgent(baseUrl: string, token: string, signal: AbortSignal): Promise<Profile['agent']> {
  const { agent_id, name } = await createAgentClient({ baseUrl, token }).me({ signal })
  return { agent_id, name, access_token: token }
}

export const profileUse = command({
  name: 'profile use',
  group: 'setup',
  summary: 'switch to a profile',
  operands: [{ name: 'name', summary: 'from: sallyport profile' }],
  examples: [['sallyport profile use work', 'use it by default from now on']],
  run: async (shell, _options, [name = '']) => {
    openProfiles(shell).use(name)
    if (shell.json) shell.output.json({ profile: name })
    else shell.output.say(`${shell.output.sayStyle('green', '✓')} "${name}" is the current profile`)
    return undefined
  },
})

export const profileRemove = command({
  name: 'profile remove',
  group: 'setup',
  summary: 'delete a profile and its tokens',
  operands: [{ name: 'name', summary: 'from: sallyport profile' }],
  examples: [['sallyport profile remove work', 'the agent stays registered with the service']],
  run: async (shell, _options, [name = '']) => {
    openProfiles(shell).remove(name)
    for (const role of ['admin', 'user'] as const) openPrivateTokens(shell, role).remove(name)
    if (shell.json) shell.output.json({ profile: name, removed: true })
    else shell.output.say(`${shell.output.sayStyle('green', '✓')} Profile "${name}" deleted`)
    return undefined
  },
})
