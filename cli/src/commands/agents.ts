import type { Agent, ListedAgent } from '@sallyport/sdk'
import { asAdmin } from '../clients.ts'
import { command } from '../command.ts'
import { limitOption, take } from '../listed.ts'
import type { Column } from '../output.ts'
import { inLine } from '../terminal-text.ts'
import { fromNow } from '../times.ts'

const columns: Column<ListedAgent>[] = [
  { title: 'AGENT', shown: ({ agent_id }) => agent_id },
  { title: 'STATUS', shown: ({ status }) => status, look: ({ status }) => (status === 'active' ? 'green' : 'dim') },
  { title: 'REGISTERED', shown: ({ created_at }) => fromNow(created_at, ''), exact: ({ created_at }) => created_at },
  { title: 'GRANTS', shown: ({ active_grants }) => String(active_grants) },
  {
    title: 'LAST CALL',
    shown: ({ last_call_at }) => fromNow(last_call_at, '-'),
    exact: ({ last_call_at }) => last_call_at ?? '-',
  },
  { title: 'NAME', shown: ({ name }) => name },
]

export const agentsList = command({
  name: 'agents list',
  group: 'operator',
  summary: 'list registered agents',
  options: {
    status: { type: 'text', value: 'STATUS', choices: ['active', 'disabled'], summary: 'filter by status' },
    search: {
      type: 'text',
      value: 'WORDS',
      summary: 'only if the name, the id or the claimed owner contains these words',
    },
    ...limitOption,
  },
  examples: [['sallyport agents --status active', 'agents that can request access and make calls']],
  run: async (shell, { status, search, limit }) => {
    const query = {
      ...(status !== undefined && { status: status as Agent['status'] }),
      ...(search !== undefined && { query: search }),
    }
    const agents = await take(asAdmin(shell).agents.list(query, { signal: shell.interrupted }), limit)
    if (shell.json) shell.output.json({ agents })
    else shell.output.table(columns, agents, 'No agents.')
    return undefined
  },
})

function changing(verb: 'disable' | 'enable', summary: string, example: string) {
  return command({
    name: `agents ${verb}`,
    group: 'operator',
    summary,
    operands: [{ name: 'agent_id', summary: 'from: sallyport agents' }],
    examples: [[`sallyport agents ${verb} agt_01k9x3v7qmf5v8t2w4y6z8abcd`, example]],
    run: async (shell, _options, [id = '']) => {
      const agent = await asAdmin(shell).agents[verb](id, { signal: shell.interrupted })
      if (shell.json) shell.output.json(agent)
      else shell.output.line(`${inLine(agent.agent_id)} is ${inLine(agent.status)}`)
      return undefined
    },
  })
}

export const agentChanges = [
  changing('disable', 'disable an agent: its token and all its grants stop working', 'immediate; enable undoes it'),
  changing('enable', 'enable a disabled agent: its token and its grants work again', 'what had expired stays expired'),
]
