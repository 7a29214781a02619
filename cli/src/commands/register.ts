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
  summary: 'register an agent and save its token in your profile',
  about: 'A token grants nothing by itself: a person has to approve access first.',
  operands: [{ name: 'name', summary: 'name shown to the person who approves' }],
  options: {
    owner: { type: 'text', value: 'USER', summary: 'claimed owner; not verified, carries no authority' },
    metadata: { type: 'text', value: 'JSON', summary: 'JSON object with any other information' },
    replace: { type: 'boolean', summary: "replace the profile's current agent" },
    'show-token': { type: 'boolean', summary: 'also print the token' },
  },
  examples: [
    ['sallyport register "Mail helper"', 'with http://localhost:8787, in the profile "default"'],
    ['sallyport register "Release notes" --profile work --url https://sallyport.example.com', 'with another service'],
  ],
  run: async (shell, options, [name = '']) => {
    const { output } = shell
    const profiles = openProfiles(shell)
    const former = profiles.read()
    const { baseUrl } = addressForNew(shell)
    if (former && !options.replace && (former.agent || former.url !== baseUrl)) {
      const what = former.agent
        ? `already has an agent, "${inLine(former.agent.name)}"`
        : `is for ${inLine(former.url)}`
      throw usageError(
        `profile "${profiles.name}" ${what}`,
        'Use another profile (--profile NAME) or replace it (--replace).',
      )
    }
    const metadata = options.metadata === undefined ? undefined : parseJson(options.metadata, '--metadata')
    // Make sure that the token can be stored before one is created.
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
      checkedToken(access_token, 'the response')
      const { agent_id } = agent
      const kept = former?.url === baseUrl ? former : {}
      staged.keep({ ...kept, url: baseUrl, agent: { agent_id, name: agent.name, access_token } })
      const shown = options['show-token'] ? { access_token } : {}
      if (shell.json) output.json({ agent_id, name: agent.name, url: baseUrl, profile: profiles.name, ...shown })
      else {
        output.say(`${output.sayStyle('green', '✓')} Registered "${inLine(agent.name)}" with ${baseUrl}`)
        output.say(`  Its token is saved in profile "${profiles.name}". Next: sallyport sandbox`)
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
