import type { ChangeGrantBody, Grant } from '@sallyport/sdk'
import { asUser } from '../clients.ts'
import { command } from '../command.ts'
import { usageError } from '../failures.ts'
import { inLine } from '../terminal-text.ts'

export const grantsChange = command({
  name: 'grants change',
  group: 'person',
  summary: 'narrow a grant of one of your agents, or extend it',
  about: `Narrower terms apply at once, also to calls in progress. Wider ones count as an approval: they stay within what the
agent asked for. An option that is left out leaves its term as it is.`,
  operands: [{ name: 'grant_id', summary: 'as the console and sallyport audit show it' }],
  options: {
    used: { type: 'boolean', summary: 'narrow it to what was used in the last 30 days' },
    host: { type: 'texts', value: 'HOST', summary: 'only these hosts' },
    method: { type: 'texts', short: 'X', value: 'METHOD', summary: 'only these methods' },
    path: { type: 'texts', value: 'PATH', summary: 'only these paths and everything under them' },
    'max-calls': {
      type: 'number',
      value: 'N',
      range: [1, 1_000_000_000],
      summary: 'call limit, with calls made so far',
    },
    expires: { type: 'text', value: 'TIME', summary: 'when it expires (RFC 3339), or never' },
    mode: {
      type: 'text',
      value: 'MODE',
      choices: ['allow_all', 'ask_writes', 'ask_all'],
      summary: 'which calls wait for you',
    },
    'max-access': { type: 'text', value: 'ACCESS', choices: ['read', 'write'], summary: 'the most that a call may do' },
  },
  examples: [
    [
      'sallyport grants change grt_01k9x3v7qmf5v8t2w4y6z8abcd --used',
      'narrow it to what was called in the last 30 days',
    ],
    ['sallyport grants change grt_01k9x3v7qmf5v8t2w4y6z8abcd --method GET --max-access read', 'read only'],
  ],
  run: async (shell, options, [id = '']) => {
    const { grants } = asUser(shell)
    const signal = { signal: shell.interrupted }
    const used = options.used ? (await grants.usage(id, signal)).suggestion : null
    const change: ChangeGrantBody = {
      ...used,
      ...(options.host.length > 0 && { allowed_hosts: options.host }),
      ...(options.method.length > 0 && { allowed_methods: options.method }),
      ...(options.path.length > 0 && { allowed_paths: options.path }),
      ...(options['max-calls'] !== undefined && { max_calls: options['max-calls'] }),
      ...(options.expires !== undefined && { expires_at: options.expires === 'never' ? null : options.expires }),
      ...(options.mode !== undefined && { mode: options.mode as Grant['mode'] }),
      ...(options['max-access'] !== undefined && { max_access: options['max-access'] as Grant['max_access'] }),
    }
    const isEmpty = Object.keys(change).length === 0
    if (isEmpty && !options.used) throw usageError('nothing to change: name a term, such as --method GET')
    const grant = await grants.change(id, change, signal)
    if (shell.json) shell.output.json(grant)
    else shell.output.line(isEmpty ? 'It already allows no more than what was used.' : `${inLine(id)} is changed`)
    return undefined
  },
})
