import { asAgent } from '../clients.ts'
import { command } from '../command.ts'
import { inLine } from '../terminal-text.ts'

export const sandbox = command({
  name: 'sandbox',
  group: 'agent',
  summary: 'try the whole flow: a grant, a call and a redacted credential',
  about:
    'Needs no person and no real provider. The grant lasts an hour; starting a new sandbox replaces the previous one.',
  examples: [
    ['sallyport sandbox', 'start one and make a first call'],
    [
      'sallyport call -g "$(sallyport sandbox --json | jq -r .grant_id)" -d \'{"a": 1}\' "$ECHO_URL"',
      'make another call with it',
    ],
  ],
  run: async (shell) => {
    const agent = asAgent(shell)
    const { output, interrupted: signal } = shell
    const started = await agent.sandbox({ signal })
    const { grant_id, echo_url } = started
    const answer = await agent.proxy({ grant_id, method: 'GET', url: echo_url }, { signal })
    const { headers } = answer.body as { headers: Record<string, unknown> }
    const seen = String(headers['authorization'])
    if (shell.json) {
      output.json({
        ...started,
        first_call: { status: answer.status, authorization: seen, redactions: answer.redactions },
      })
      return undefined
    }
    const { style } = output
    output.line(`Grant      ${style('cyan', inLine(grant_id))}`)
    output.line(`Echo       ${inLine(echo_url)}`)
    output.line(
      `Called     ${inLine(String(answer.status))}; the upstream received a token, you see: ${style('green', inLine(seen))}`,
    )
    output.line(`Next       sallyport call ${inLine(echo_url)}`)
    return undefined
  },
})
