/** Decides on calls as the signed-in user. */
import type { PersonCall, Repeat } from '@sallyport/sdk'
import { asUser } from '../clients.ts'
import { command } from '../command.ts'
import { showCall } from '../describe-call.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailure, usageError } from '../failures.ts'
import { limitOption, take } from '../listed.ts'
import type { Column } from '../output.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'
import { fromNow } from '../times.ts'

const seconds = { '15m': 900, '1h': 3600 } as const

export const callsApprove = command({
  name: 'calls approve',
  group: 'person',
  summary: 'approve a call that waits for you',
  about: `Shows the call and asks. Only the call that was shown is approved. If you approve on devices only, use your device.`,
  operands: [{ name: 'call_id', summary: 'from: sallyport calls --person --status waiting' }],
  options: {
    'repeat-for': {
      type: 'text',
      value: 'TIME',
      choices: Object.keys(seconds),
      summary: 'also allow the same call again for this long, at most 50 times',
    },
    digest: { type: 'text', value: 'DIGEST', summary: 'approve without asking, and only the call with this digest' },
  },
  examples: [
    ['sallyport calls approve cal_01k9x3v7qmf5v8t2w4y6z8abcd', 'show it, and ask'],
    ['sallyport calls approve cal_01k9x3v7qmf5v8t2w4y6z8abcd --repeat-for 15m', 'and the same call for 15 minutes'],
  ],
  run: async (shell, { 'repeat-for': time, digest: given }, [id = '']) => {
    const user = asUser(shell)
    const options = { signal: shell.interrupted }
    const digest = given ?? (await confirmed(shell, await user.calls.get(id, options)))
    const repeat = time === undefined ? {} : { repeat_for_seconds: seconds[time as keyof typeof seconds] }
    told(shell, await user.calls.approve(id, { digest, ...repeat }, options))
    return undefined
  },
})

/** The digest of the call that the person has seen and wants. */
async function confirmed({ output, ask }: Shell, call: PersonCall): Promise<string> {
  if (!ask) {
    throw usageError(
      'without a terminal, pass the digest of the call that you have seen',
      'sallyport calls show --person',
    )
  }
  if (call.status !== 'waiting') throw usageError(`this call is ${inLine(call.status)} and can't be approved any more`)
  showCall(output, call)
  const answer = await ask('Approve this call? [y/N] ')
  if (/^y(?:es)?$/i.test(answer.trim())) return call.digest
  throw new CommandFailure(exitCodes.pending, 'not approved; the call still waits', {
    code: 'not_approved',
    hint: `Deny it: sallyport calls deny ${inLine(call.call_id)}`,
  })
}

export const callsDeny = command({
  name: 'calls deny',
  group: 'person',
  summary: 'deny a call that waits for you',
  operands: [{ name: 'call_id', summary: 'from: sallyport calls --person --status waiting' }],
  options: { reason: { type: 'text', value: 'TEXT', summary: 'shown to the agent' } },
  examples: [['sallyport calls deny cal_01k9x3v7qmf5v8t2w4y6z8abcd --reason "Not this repository"', 'say why']],
  run: async (shell, { reason }, [id = '']) => {
    const denial = reason === undefined ? {} : { reason }
    told(shell, await asUser(shell).calls.deny(id, denial, { signal: shell.interrupted }))
    return undefined
  },
})

function told({ json, output }: Shell, call: PersonCall): void {
  if (json) output.json(call)
  else output.line(`${inLine(call.call_id)} is ${inLine(call.status)}`)
}

const columns: Column<Repeat>[] = [
  { title: 'REPEAT', shown: ({ repeat_id }) => repeat_id },
  { title: 'AGENT', shown: ({ agent }) => agent.name },
  { title: 'METHOD', shown: ({ method }) => method },
  { title: 'URL', shown: ({ url }) => url },
  { title: 'SCOPE', shown: ({ scope }) => scope },
  { title: 'LEFT', shown: ({ calls_left }) => String(calls_left) },
  { title: 'EXPIRES', shown: ({ expires_at }) => fromNow(expires_at, ''), exact: ({ expires_at }) => expires_at },
]

export const callsRepeats = command({
  name: 'calls repeats',
  group: 'person',
  summary: 'list calls that are allowed again without asking you, or end one',
  options: {
    end: { type: 'text', value: 'REPEAT_ID', summary: 'ask for such calls again from now on' },
    ...limitOption,
  },
  examples: [
    ['sallyport calls repeats', 'what agents may repeat'],
    ['sallyport calls repeats --end rep_01k9x3v7qmf5v8t2w4y6z8abcd', 'end one'],
  ],
  run: async (shell, { end, limit }) => {
    const { json, output } = shell
    const { calls } = asUser(shell)
    const options = { signal: shell.interrupted }
    if (end !== undefined) {
      await calls.revokeRepeat(end, options)
      if (json) output.json({ repeat_id: end })
      else output.line(`${inLine(end)} has ended`)
      return undefined
    }
    const repeats = await take(calls.repeats({}, options), limit)
    if (json) output.json({ repeats })
    else output.table(columns, repeats, 'No repeats.')
    return undefined
  },
})
