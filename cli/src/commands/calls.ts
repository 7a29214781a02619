/** Calls that a person has to approve, for the agent that made them. */
import type { AgentCall, CallStatus } from '@sallyport/sdk'
import { earlierCall } from '../call-approval.ts'
import { asAgent, asUser } from '../clients.ts'
import { command } from '../command.ts'
import { showCall } from '../describe-call.ts'
import { limitOption, take } from '../listed.ts'
import type { Column } from '../output.ts'
import { responseOf } from '../proxied.ts'
import { showAnswer } from '../show-answer.ts'
import { inLine } from '../terminal-text.ts'
import { fromNow } from '../times.ts'
import { codeOf } from './call.ts'

const statuses = ['waiting', 'approved', 'running', 'done', 'denied', 'expired', 'cancelled', 'unknown']

/** What an agent's and a person's view of a call have in common. */
export type Listed = Pick<AgentCall, 'call_id' | 'status' | 'access' | 'created_at' | 'expires_at'> & {
  method: string
  url: string
}

export const callColumns: Column<Listed>[] = [
  { title: 'CALL', shown: ({ call_id }) => call_id },
  { title: 'STATUS', shown: ({ status }) => status, look: ({ status }) => (status === 'waiting' ? 'yellow' : 'dim') },
  {
    title: 'ACCESS',
    shown: ({ access }) => access,
    look: ({ access }) => (access === 'destructive' ? 'red' : undefined),
  },
  { title: 'METHOD', shown: ({ method }) => method },
  { title: 'URL', shown: ({ url }) => url },
  { title: 'MADE', shown: ({ created_at }) => fromNow(created_at, ''), exact: ({ created_at }) => created_at },
  { title: 'EXPIRES', shown: ({ expires_at }) => fromNow(expires_at, ''), exact: ({ expires_at }) => expires_at },
]

const personOption = {
  person: { type: 'boolean', summary: 'as the signed-in user: the calls of all agents that you decide on' },
} as const

export const callsList = command({
  name: 'calls list',
  group: 'agent',
  summary: 'list calls that a person had to approve',
  options: {
    status: { type: 'text', value: 'STATUS', choices: statuses, summary: 'filter by status' },
    ...personOption,
    ...limitOption,
  },
  examples: [
    ['sallyport calls --status waiting', "this agent's calls that wait for a person"],
    ['sallyport calls --person --status waiting', 'the calls that wait for you'],
  ],
  run: async (shell, { status, person, limit }) => {
    const query = { ...(status !== undefined && { status: status as CallStatus }) }
    const options = { signal: shell.interrupted }
    if (!person) {
      const calls = await take(asAgent(shell).calls.list(query, options), limit)
      if (shell.json) shell.output.json({ calls })
      else shell.output.table(callColumns, calls, 'No calls.')
      return undefined
    }
    const calls = await take(asUser(shell).calls.list(query, options), limit)
    const listed = calls.map(({ description: { method, url }, ...call }) => ({ ...call, method, url }))
    if (shell.json) shell.output.json({ calls })
    else shell.output.table(callColumns, listed, 'No calls.')
    return undefined
  },
})

export const callsShow = command({
  name: 'calls show',
  group: 'agent',
  summary: 'show a call and what became of it',
  operands: [{ name: 'call_id', summary: 'from: sallyport calls' }],
  options: personOption,
  examples: [
    ['sallyport calls show cal_01k9x3v7qmf5v8t2w4y6z8abcd', 'as the agent that made it'],
    ['sallyport calls show --person cal_01k9x3v7qmf5v8t2w4y6z8abcd', 'as the person who decides'],
  ],
  run: async (shell, { person }, [id = '']) => {
    const options = { signal: shell.interrupted }
    const { output } = shell
    if (person) {
      const call = await asUser(shell).calls.get(id, options)
      if (shell.json) output.json(call)
      else showCall(output, call)
      return undefined
    }
    const call = await asAgent(shell).calls.get(id, options)
    if (shell.json) output.json(call)
    else {
      output.line(`${inLine(call.call_id)} is ${inLine(call.status)}: ${inLine(call.method)} ${inLine(call.url)}`)
      if (call.status === 'waiting') output.line(`A person decides at ${inLine(call.approval_url)}`)
      if (call.denial_reason !== null) output.line(`The person said: ${inLine(call.denial_reason)}`)
      if (call.error) output.line(`${inLine(call.error.code)}: ${inLine(call.error.message)}`)
      if (call.response)
        output.line(`The API responded with ${call.response.status}: sallyport calls wait ${inLine(id)}`)
    }
    return undefined
  },
})

export const callsWait = command({
  name: 'calls wait',
  group: 'agent',
  summary: 'wait for the response of an earlier call',
  about: `Prints the response as "sallyport call" does, with the same exit codes. A response is kept for one hour.
Ctrl-C stops waiting; the call stays open.`,
  operands: [{ name: 'call_id', summary: 'from: sallyport call --wait 0, or sallyport calls' }],
  options: {
    timeout: {
      type: 'number',
      value: 'SECONDS',
      range: [0, 604_800],
      summary: 'how long to wait (default: until the call expires)',
    },
  },
  examples: [['sallyport calls wait cal_01k9x3v7qmf5v8t2w4y6z8abcd --timeout 60', 'for up to a minute']],
  run: async (shell, { timeout }, [id = '']) => {
    const reply = await earlierCall(shell, asAgent(shell), id, timeout)
    if (shell.json) shell.output.json(reply)
    else await showAnswer(shell.output, responseOf(reply), printed)
    return codeOf(reply.status)
  },
})

const printed = { include: false, stream: false, file: undefined, isSilent: false }

export const callsCancel = command({
  name: 'calls cancel',
  group: 'agent',
  summary: 'cancel a call that waits for a person',
  operands: [{ name: 'call_id', summary: 'from: sallyport calls --status waiting' }],
  examples: [['sallyport calls cancel cal_01k9x3v7qmf5v8t2w4y6z8abcd', 'it can’t be approved afterwards']],
  run: async (shell, _options, [id = '']) => {
    const call = await asAgent(shell).calls.cancel(id, { signal: shell.interrupted })
    if (shell.json) shell.output.json(call)
    else shell.output.line(`${inLine(call.call_id)} is ${inLine(call.status)}`)
    return undefined
  },
})
