import type { AccessRequest, AgentClient } from '@sallyport/sdk'
import { asAgent } from '../clients.ts'
import { command } from '../command.ts'
import { openBrowser } from '../open-browser.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'
import { fromNow } from '../times.ts'
import { waitForDecision } from '../waiting.ts'

const timeout = {
  type: 'number',
  value: 'SECONDS',
  range: [1, 604_800],
  summary: 'how long to wait; without it, until the request expires',
} as const

export const request = command({
  name: 'request',
  group: 'agent',
  summary: 'ask a person for access, show the link, and wait for the answer',
  about: `What you name here is the most that can come of it: the person may approve less, never more.
The grant's id is printed on standard output, all else on standard error: grant=$(sallyport request github)`,
  operands: [{ name: 'provider', summary: 'as in: sallyport providers list; sandbox is approved at once' }],
  options: {
    host: { type: 'texts', value: 'HOST', summary: "only these hosts, or *.example.com; else all of the provider's" },
    method: { type: 'texts', short: 'X', value: 'METHOD', summary: 'only these methods; else any' },
    path: { type: 'texts', value: 'PATH', summary: 'only below these paths; a segment * stands for any one' },
    'max-calls': { type: 'number', value: 'N', range: [1, 1_000_000_000], summary: 'how many calls at most' },
    reason: { type: 'text', value: 'TEXT', summary: 'what you want it for; the person reads it' },
    user: { type: 'text', value: 'USER', summary: 'who should decide: a user_id or an e-mail address' },
    'callback-url': { type: 'text', value: 'URL', summary: 'an https URL that is told of the answer' },
    open: { type: 'boolean', summary: 'open the link in the browser of this machine' },
    'no-wait': { type: 'boolean', summary: "print the request's id and go on" },
    timeout,
  },
  examples: [
    ['sallyport request github --method GET --reason "To read your issues"', 'may read, and says why'],
    ['sallyport request sandbox --reason "To try it out"', 'is approved at once, and reaches the echo alone'],
    ['sallyport request github --user ada@example.com --no-wait', 'rings her phone, and does not wait'],
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
      showLink(shell, asked)
      if (options.open && !(await openBrowser(shell, asked.approval_url)))
        output.say('No browser could be opened here.')
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
  summary: 'wait for the answer to an earlier request',
  operands: [{ name: 'access_request_id', summary: 'as printed by: sallyport request --no-wait' }],
  options: { timeout },
  examples: [['sallyport wait arq_01k9x3v7qmf5v8t2w4y6z8abcd --timeout 60', 'for a minute at most']],
  run: async (shell, { timeout }, [id = '']) => answer(shell, asAgent(shell), id, timeout),
})

/** A link that a script has to pass on is in the JSON too; a person sees it at once. */
function showLink({ output }: Shell, { approval_url, provider_name, verified, expires_at }: AccessRequest): void {
  const { sayStyle } = output
  output.say(`Somebody has to approve this for ${inLine(provider_name)}. Send them here:`)
  output.say(`  ${sayStyle('cyan', inLine(approval_url))}`)
  if (!verified) output.say(sayStyle('yellow', '  Nobody who runs this service answers for that provider.'))
  output.say(sayStyle('dim', `  The link works ${fromNow(expires_at, '').replace('in ', 'for ')}.`))
}

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
