import type { AgentClient, ProxyReply } from '@sallyport/sdk'
import { readCall } from '../call-input.ts'
import type { CallInput } from '../call-input.ts'
import { chooseGrant } from '../choose-grant.ts'
import { asAgent } from '../clients.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { ExitCode } from '../exit-codes.ts'
import { usageError } from '../failures.ts'
import { proxied } from '../proxied.ts'
import type { Shell } from '../shell.ts'
import { showAnswer } from '../show-answer.ts'
import { inLine } from '../terminal-text.ts'

const usualTimeoutMs = 60_000

export const call = command({
  name: 'call',
  group: 'agent',
  summary: "call an API with a person's account, as you would with curl",
  about: `The service puts the credential in and takes it out of what comes back. The body goes to standard output as it
came, byte by byte; on a terminal JSON is laid out and control characters are shown instead of obeyed.
Ends with 0 for an answer below 400, 22 for 4xx, 23 for 5xx, 4 where the call was refused and never made.`,
  operands: [{ name: 'url', summary: 'an https URL that a grant covers' }],
  options: {
    grant: {
      type: 'text',
      short: 'g',
      value: 'GRANT_ID',
      summary: 'which grant; else the only one that covers the URL',
    },
    method: {
      type: 'text',
      short: 'X',
      value: 'METHOD',
      summary: 'GET, or POST where there is data, unless said otherwise',
    },
    header: { type: 'texts', short: 'H', value: '"NAME: VALUE"', summary: 'a header' },
    data: {
      type: 'texts',
      short: 'd',
      value: 'DATA',
      summary: 'the body: text, @FILE, or - for standard input; JSON is sent as JSON',
    },
    include: { type: 'boolean', short: 'i', summary: 'print status and headers before the body' },
    output: { type: 'text', short: 'o', value: 'FILE', summary: 'write the body there' },
    stream: { type: 'boolean', summary: 'print the answer as it comes, and not only once it is whole' },
    location: { type: 'boolean', short: 'L', summary: 'follow redirects, as far as the grant covers them' },
    'idempotency-key': { type: 'text', value: 'KEY', summary: 'the same call with the same key is made once' },
    timeout: {
      type: 'number',
      value: 'SECONDS',
      range: [1, 300],
      summary: 'how long the call may take; 60 unless said otherwise',
    },
    'dry-run': { type: 'boolean', summary: 'say whether the call would be made, and make none' },
  },
  examples: [
    ['sallyport call https://api.github.com/user', 'with the grant that covers api.github.com'],
    [
      'sallyport call -X PATCH -d \'{"state": "closed"}\' https://api.github.com/repos/ada/notes/issues/1',
      'JSON is recognised',
    ],
    ['sallyport call -d @photo.png -H "content-type: image/png" https://uploads.github.com/…', 'a file as it is'],
    ['sallyport call --json https://api.github.com/user', 'status, headers, body and audit_id as one JSON object'],
  ],
  run: async (shell, options, [address = '']) => {
    const url = urlOf(address)
    const { stream, include, output: file } = options
    if (shell.json && (stream || include || file !== undefined)) {
      throw usageError('--json has the whole answer in it; leave out --stream, --include and --output')
    }
    const method = (options.method ?? (options.data.length > 0 ? 'POST' : 'GET')).toUpperCase()
    const agent = asAgent(shell)
    const input = await readCall(shell, options.header, options.data)
    if (input.body && ['GET', 'HEAD'].includes(method)) throw usageError(`${method} takes no data; leave out -d or -X`)
    const grantId = options.grant ?? (await chooseGrant(agent, url, method, shell.interrupted))
    const made = { ...options, shell, agent, grantId, method, url: address, input }
    if (options['dry-run']) return dryRun(made)
    if (shell.json) return envelope(made)
    const response = await proxied(agent, {
      grantId,
      method,
      url: address,
      ...input,
      follow: options.location,
      timeoutMs: options.timeout === undefined ? (stream ? null : usualTimeoutMs) : options.timeout * 1000,
      idempotencyKey: options['idempotency-key'],
      signal: shell.interrupted,
    })
    await showAnswer(shell.output, response, { stream, include, file })
    return told(shell, url, response.status)
  },
})

interface Made {
  shell: Shell
  agent: AgentClient
  grantId: string
  method: string
  url: string
  input: CallInput
  location: boolean
  timeout: number | undefined
  'idempotency-key': string | undefined
}

function wire({ grantId, method, url, input, location, timeout }: Made) {
  return {
    grant_id: grantId,
    method,
    url,
    headers: input.headers,
    ...(input.body && { body_base64: input.body.toString('base64') }),
    ...(location && { follow_redirects: true }),
    ...(timeout !== undefined && { timeout_ms: timeout * 1000 }),
  }
}

async function envelope(made: Made): Promise<ExitCode> {
  const { shell, agent, 'idempotency-key': idempotencyKey } = made
  const reply: ProxyReply = await agent.proxy(wire(made), { signal: shell.interrupted, idempotencyKey })
  shell.output.json(reply)
  return codeOf(reply.status)
}

async function dryRun(made: Made): Promise<ExitCode> {
  const { shell, agent } = made
  const { output } = shell
  const answer = await agent.dryRun(wire(made), { signal: shell.interrupted })
  if (shell.json) output.json(answer)
  else
    output.line(
      answer.allowed
        ? output.style('green', 'allowed')
        : output.style('red', `refused: ${inLine(answer.reason ?? '')}`),
    )
  return answer.allowed ? exitCodes.done : exitCodes.refused
}

function told({ output }: Shell, url: URL, status: number): ExitCode {
  const code = codeOf(status)
  if (code !== exitCodes.done) output.say(`${output.sayStyle('yellow', 'sallyport:')} ${url.host} answered ${status}`)
  return code
}

function codeOf(status: number): ExitCode {
  if (status < 400) return exitCodes.done
  return status < 500 ? exitCodes.upstreamClientError : exitCodes.upstreamServerError
}

function urlOf(text: string): URL {
  try {
    return new URL(text)
  } catch {
    throw usageError(`<url>: got "${inLine(text)}"; takes an https URL`)
  }
}
