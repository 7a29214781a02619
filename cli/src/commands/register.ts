import { registerAgent } from '@sallyport/sdk'
import { command } from '../command.ts'
import { addressForNew, checkedToken } from '../credentials.ts'
import { usageError } from '../failures.ts'
import { parseJson } from '../input-files.ts'
import { openProfiles } from '../profiles.ts'
import { inLine } from '../terminal-text.ts'

export const register = command({
  name: 'register',
  group: 'agent',
  summary: 'register an agent and keep its token in your profile',
  about: 'A token grants nothing by itself: every call needs an approval by a person.',
  operands: [{ name: 'name', summary: 'what people see when they are asked for approval' }],
  options: {
    owner: { type: 'text', value: 'USER', summary: 'whose agent it says it is; a claim, which carries no authority' },
    metadata: { type: 'text', value: 'JSON', summary: 'an object with anything else to be known of it' },
    replace: { type: 'boolean', summary: "put it in the place of the profile's present agent" },
    'show-token': { type: 'boolean', summary: 'print the token too, this once' },
  },
  examples: [
    ['sallyport register "Mail helper"', 'at http://localhost:8787, into the profile "default"'],
    ['sallyport register "Release notes" --profile work --url https://sallyport.example.com', 'at another service'],
  ],
  run: async (shell, options, [name = '']) => {
    const { output } = shell
    const profiles = openProfiles(shell)
    const former = profiles.read()
    const { baseUrl } = addressForNew(shell)
    if (former && !options.replace && (former.agent || former.url !== baseUrl)) {
      const what = former.agent
        ? `has an agent already, "${inLine(former.agent.name)}"`
        : `is for ${inLine(former.url)}`
      throw usageError(`profile "${profiles.name}" ${what}`, 'Into another: --profile NAME. In its place: --replace.')
    }
    const metadata = options.metadata === undefined ? undefined : parseJson(options.metadata, '--metadata')
    // A token that can't be kept must not be made.
    const staged = profiles.stage()
    try {
      const { agent, access_token } = await registerAgent(
        {
          baseUrl,
          name,
          ...(options.owner !== undefined && { owner_user_id: options.owner }),
          ...(metadata !== undefined && { metadata: metadata as Record<string, unknown> }),
        },
        { signal: shell.interrupted },
      )
      checkedToken(access_token, 'the answer')
      const { agent_id } = agent
      const kept = former?.url === baseUrl ? former : {}
      staged.keep({ ...kept, url: baseUrl, agent: { agent_id, name: agent.name, access_token } })
      const shown = options['show-token'] ? { access_token } : {}
      if (shell.json) output.json({ agent_id, name: agent.name, url: baseUrl, profile: profiles.name, ...shown })
      else {
        output.say(`${output.sayStyle('green', '✓')} Registered "${inLine(agent.name)}" at ${baseUrl}`)
        output.say(`  Its token is kept in profile "${profiles.name}". Next: sallyport sandbox`)
        output.line(inLine(agent_id))
        if (options['show-token']) output.line(access_token)
      }
    } catch (error) {
      staged.discard()
      throw error
    }
    return undefined
  },
})
