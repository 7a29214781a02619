import type { AgentClient, ProxyReply } from '@sallyport/sdk'
import { readCall } from '../call-input.ts'
import type { CallInput, CallWords } from '../call-input.ts'
import { chooseGrant } from '../choose-grant.ts'
import { asAgent } from '../clients.ts'
import { command } from '../command.ts'
import type { Repeated } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { ExitCode } from '../exit-codes.ts'
import { CommandFailure, describeFailure, usageError } from '../failures.ts'
import { droppedOf, proxied } from '../proxied.ts'
import type { Shell } from '../shell.ts'
import { showAnswer } from '../show-answer.ts'
import { inLine } from '../terminal-text.ts'

const usualTimeoutMs = 60_000

export const call = command({
  name: 'call',
  group: 'agent',
  summary: "call an API with a person's account, with the options of curl that are listed here",
  about: `The service puts the credential in and takes it out of what comes back. The body goes to standard output as it
came, byte by byte; on a terminal JSON is laid out and control characters are shown instead of obeyed.
Where an option differs from curl's, docs/cli.md says so.
Ends with 0 for an answer below 400, 22 for 4xx, 23 for 5xx, 4 where the call was refused and never made.`,
  operands: [{ name: 'url', summary: 'an https URL that a grant covers' }],
  options: {
    grant: {
      type: 'text',
      short: 'g',
      value: 'GRANT_ID',
      summary: 'which grant; else the newest that covers the URL, if all that do are for one account',
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
    'data-raw': { type: 'texts', value: 'DATA', summary: 'as --data, but a leading @ or - means nothing' },
    'data-binary': { type: 'texts', value: 'DATA', summary: 'as --data: a file is always sent as it is' },
    form: {
      type: 'texts',
      short: 'F',
      value: 'NAME=CONTENT',
      summary: 'a field of a multipart form: text, @FILE or <FILE, then ;type=… and ;filename=…',
    },
    'upload-file': { type: 'text', short: 'T', value: 'FILE', summary: 'PUT this file; - for standard input' },
    get: { type: 'boolean', short: 'G', summary: "put the data into the URL's query, and GET" },
    head: { type: 'boolean', short: 'I', summary: 'HEAD, and print the headers' },
    fail: { type: 'boolean', short: 'f', summary: 'print no body where the API answers 400 or more' },
    silent: { type: 'boolean', short: 's', summary: 'say nothing on standard error; the exit code tells' },
    'show-error': { type: 'boolean', short: 'S', summary: 'with --silent, say what failed all the same' },
    compressed: { type: 'boolean', summary: 'changes nothing: answers always come decoded' },
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
    ['sallyport call -T photo.png -H "content-type: image/png" https://uploads.github.com/…', 'a file as it is'],
    ['sallyport call --json https://api.github.com/user', 'status, headers, body and audit_id as one JSON object'],
  ],
  run: async (shell, options, [address = ''], repeated) => {
    const { silent: isSilent, 'show-error': showsErrors } = options
    if (!isSilent || showsErrors) return make(shell, options, address, repeated)
    try {
      return await make(shell, options, address, repeated)
    } catch (error) {
      const { exitCode, message } = describeFailure(error)
      if (exitCode === exitCodes.usage) throw error
      throw new CommandFailure(exitCode, message, { isSilent: true })
    }
  },
})

interface CallOptions extends Omit<CallWords, 'url'> {
  grant: string | undefined
  include: boolean
  output: string | undefined
  stream: boolean
  location: boolean
  'idempotency-key': string | undefined
  timeout: number | undefined
  'dry-run': boolean
  fail: boolean
  silent: boolean
  'show-error': boolean
}

async function make(
  shell: Shell,
  options: CallOptions,
  address: string,
  repeated: readonly Repeated[],
): Promise<ExitCode> {
  const { stream, output: file, silent: isSilent, head } = options
  const include = options.include || head
  if (shell.json && (stream || include || file !== undefined)) {
    throw usageError('--json has the whole answer in it; leave out --stream, --include, --head and --output')
  }
  urlOf(address)
  const agent = asAgent(shell)
  const input = await readCall(shell, { ...options, url: address }, repeated)
  const url = urlOf(input.url)
  const grantId = options.grant ?? (await chooseGrant(agent, { ...input, url, signal: shell.interrupted }))
  const made = { ...options, shell, agent, grantId, input }
  if (options['dry-run']) return dryRun(made)
  if (shell.json) return envelope(made)
  const response = await proxied(agent, {
    ...input,
    grantId,
    follow: options.location,
    timeoutMs: options.timeout === undefined ? (stream ? null : usualTimeoutMs) : options.timeout * 1000,
    idempotencyKey: options['idempotency-key'],
    signal: shell.interrupted,
  })
  const dropped = droppedOf(response)
  if (dropped.length > 0 && !isSilent) sayDropped(shell, dropped)
  const isFailure = options.fail && response.status >= 400
  if (isFailure) await response.body?.cancel()
  else await showAnswer(shell.output, response, { stream, include, file, isSilent })
  return told(shell, url, response.status, isSilent && !options['show-error'])
}

interface Made {
  shell: Shell
  agent: AgentClient
  grantId: string
  input: CallInput
  location: boolean
  timeout: number | undefined
  'idempotency-key': string | undefined
}

function wire({ grantId, input: { method, url, headers, body }, location, timeout }: Made) {
  return {
    grant_id: grantId,
    method,
    url,
    headers,
    ...(body && { body_base64: body.toString('base64') }),
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
  else {
    if (answer.dropped_headers.length > 0) sayDropped(shell, answer.dropped_headers)
    output.line(
      answer.allowed
        ? output.style('green', 'allowed')
        : output.style('red', `refused: ${inLine(answer.reason ?? '')}`),
    )
  }
  return answer.allowed ? exitCodes.done : exitCodes.refused
}

function sayDropped({ output }: Shell, names: readonly string[]): void {
  output.say(`${output.sayStyle('yellow', 'sallyport:')} not sent on: ${inLine(names.join(', '))}`)
}

function told({ output }: Shell, url: URL, status: number, isSilent: boolean): ExitCode {
  const code = codeOf(status)
  if (code !== exitCodes.done && !isSilent)
    output.say(`${output.sayStyle('yellow', 'sallyport:')} ${url.host} answered ${status}`)
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
