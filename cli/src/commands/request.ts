import type { AgentClient } from '@sallyport/sdk'
import { asAgent } from '../clients.ts'
import { command } from '../command.ts'
import { openBrowser } from '../open-browser.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'
import { showApprovalLink, waitForDecision } from '../waiting.ts'

const timeout = {
  type: 'number',
  value: 'SECONDS',
  range: [1, 604_800],
  summary: 'how long to wait (default: until the request expires)',
} as const

export const request = command({
  name: 'request',
  group: 'agent',
  summary: 'request access: print the approval link and wait for the decision',
  about: `The person can approve less than you request here, never more.
The grant id is printed on standard output, everything else on standard error: grant=$(sallyport request github)`,
  operands: [{ name: 'provider', summary: 'from: sallyport providers list; sandbox is approved immediately' }],
  options: {
    host: {
      type: 'texts',
      value: 'HOST',
      summary: "only these hosts, or *.example.com (default: all of the provider's)",
    },
    method: { type: 'texts', short: 'X', value: 'METHOD', summary: 'only these methods (default: any)' },
    path: {
      type: 'texts',
      value: 'PATH',
      summary: 'only these paths and everything under them; * matches one segment',
    },
    'max-calls': { type: 'number', value: 'N', range: [1, 1_000_000_000], summary: 'call limit' },
    reason: { type: 'text', value: 'TEXT', summary: 'why you need access; shown to the person' },
    user: { type: 'text', value: 'USER', summary: 'who should decide: a user_id or an email address' },
    'callback-url': { type: 'text', value: 'URL', summary: 'https URL to notify of the decision' },
    open: { type: 'boolean', summary: 'open the link in a browser on this machine' },
    'no-wait': { type: 'boolean', summary: "print the request's id and don't wait" },
    timeout,
  },
  examples: [
    ['sallyport request github --method GET --reason "To read your issues"', 'read-only, with a reason'],
    ['sallyport request sandbox --reason "To try it out"', 'approved immediately; reaches only the echo endpoint'],
    ['sallyport request github --user ada@example.com --no-wait', 'notify her devices, and don’t wait'],
  ],
  run: async (shell, options, [provider = '']) => {
    const agent = asAgent(shell)
    const { output } = shell
    const asked = await agent.requestAccess(
      {
        provider,
        ...(options.host.length > 0 && { hosts: options.host }),
        ...(options.method.length > 0 && { methods: options.method }),
        ...(options.path.length > 0 && { paths: options.path }),
        ...(options['max-calls'] !== undefined && { max_calls: options['max-calls'] }),
        ...(options.reason !== undefined && { reason: options.reason }),
        ...(options.user !== undefined && { user_id: options.user }),
        ...(options['callback-url'] !== undefined && { callback_url: options['callback-url'] }),
      },
      { signal: shell.interrupted },
    )
    // A sandbox request is approved immediately, so there is no link to open.
    if (asked.status !== 'approved') {
      showApprovalLink(shell, asked)
      if (options.open && !(await openBrowser(shell, asked.approval_url))) output.say('Could not open a browser.')
    }
    if (!options['no-wait']) return answer(shell, agent, asked.access_request_id, options.timeout)
    if (shell.json) output.json(asked)
    else output.line(inLine(asked.access_request_id))
    return undefined
  },
})

export const wait = command({
  name: 'wait',
  group: 'agent',
  summary: 'wait for the decision on an earlier request',
  operands: [{ name: 'access_request_id', summary: 'from: sallyport request --no-wait' }],
  options: { timeout },
  examples: [['sallyport wait arq_01k9x3v7qmf5v8t2w4y6z8abcd --timeout 60', 'for up to a minute']],
  run: async (shell, { timeout }, [id = '']) => answer(shell, asAgent(shell), id, timeout),
})

async function answer(shell: Shell, agent: AgentClient, id: string, timeoutSeconds?: number): Promise<undefined> {
  const { output } = shell
  const decided = await waitForDecision(shell, agent, id, timeoutSeconds)
  if (shell.json) {
    output.json(decided)
    return
  }
  output.say(`${output.sayStyle('green', '✓')} Approved.`)
  output.line(inLine(decided.grant_id))
}
