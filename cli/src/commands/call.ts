import type { AgentClient, DryRunReply, ProxyReply } from '@sallyport/sdk'
import { throughApproval } from '../call-approval.ts'
import { readCall } from '../call-input.ts'
import type { CallInput, CallWords } from '../call-input.ts'
import { chooseGrant } from '../choose-grant.ts'
import { asAgent } from '../clients.ts'
import { command } from '../command.ts'
import type { Repeated } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { ExitCode } from '../exit-codes.ts'
import { CommandFailure, describeFailure, usageError } from '../failures.ts'
import type { Style } from '../output.ts'
import { droppedOf, proxied } from '../proxied.ts'
import type { Shell } from '../shell.ts'
import { showAnswer } from '../show-answer.ts'
import { inLine } from '../terminal-text.ts'

const usualTimeoutMs = 60_000

export const call = command({
  name: 'call',
  group: 'agent',
  summary: "call an API with a person's account, using curl-like options",
  about: `The service adds the credential and redacts it from the response. The body is written to standard output
unchanged; on a terminal, JSON is formatted and control characters are escaped.
docs/cli.md lists how options differ from curl's.
A grant can require that a person approves a call. Then the link is printed on standard error, and the command waits for
the decision; Ctrl-C cancels the call.
Exit codes: 0 for a status below 400, 22 for 4xx, 23 for 5xx, 4 if the call was refused and not made, 5 if a person
denied it or it expired, 6 if it still waits for a person.`,
  operands: [{ name: 'url', summary: 'an https URL that a grant covers' }],
  options: {
    grant: {
      type: 'text',
      short: 'g',
      value: 'GRANT_ID',
      summary: 'grant to use (default: the newest that covers the URL, if all of them are for one account)',
    },
    method: {
      type: 'text',
      short: 'X',
      value: 'METHOD',
      summary: 'HTTP method (default: GET, or POST with data)',
    },
    header: { type: 'texts', short: 'H', value: '"NAME: VALUE"', summary: 'request header' },
    data: {
      type: 'texts',
      short: 'd',
      value: 'DATA',
      summary: 'request body: text, @FILE, or - for standard input; JSON is sent as JSON',
    },
    'data-raw': { type: 'texts', value: 'DATA', summary: 'like --data, but @ and - have no special meaning' },
    'data-binary': { type: 'texts', value: 'DATA', summary: 'like --data; files are sent unchanged' },
    form: {
      type: 'texts',
      short: 'F',
      value: 'NAME=CONTENT',
      summary: 'multipart form field: text, @FILE or <FILE, with optional ;type=… and ;filename=…',
    },
    'upload-file': { type: 'text', short: 'T', value: 'FILE', summary: 'PUT this file; - for standard input' },
    get: { type: 'boolean', short: 'G', summary: "put the data into the URL's query and make a GET request" },
    head: { type: 'boolean', short: 'I', summary: 'make a HEAD request and print the headers' },
    fail: { type: 'boolean', short: 'f', summary: "don't print the body if the status is 400 or above" },
    silent: { type: 'boolean', short: 's', summary: 'print nothing on standard error' },
    'show-error': { type: 'boolean', short: 'S', summary: 'with --silent, still print errors' },
    compressed: { type: 'boolean', summary: 'no effect: responses are always decoded' },
    include: { type: 'boolean', short: 'i', summary: 'print status and headers before the body' },
    output: { type: 'text', short: 'o', value: 'FILE', summary: 'write the body to this file' },
    stream: { type: 'boolean', summary: 'print the response as it arrives' },
    location: { type: 'boolean', short: 'L', summary: 'follow redirects that the grant covers' },
    'idempotency-key': { type: 'text', value: 'KEY', summary: 'repeating a call with the same key makes it only once' },
    timeout: {
      type: 'number',
      value: 'SECONDS',
      range: [1, 300],
      summary: 'timeout (default: 60)',
    },
    reason: { type: 'text', value: 'TEXT', summary: 'why you make this call; shown to a person who has to approve it' },
    wait: {
      type: 'number',
      value: 'SECONDS',
      range: [0, 604_800],
      summary: 'how long to wait if a person has to approve the call (default: until it expires)',
    },
    'dry-run': { type: 'boolean', summary: 'only check whether the call would be allowed' },
  },
  examples: [
    ['sallyport call https://api.github.com/user', 'with the grant that covers api.github.com'],
    [
      'sallyport call -X PATCH -d \'{"state": "closed"}\' https://api.github.com/repos/ada/notes/issues/1',
      'JSON is detected',
    ],
    ['sallyport call -T photo.png -H "content-type: image/png" https://uploads.github.com/…', 'upload a file'],
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
  reason: string | undefined
  wait: number | undefined
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
    throw usageError('--json prints the whole response; omit --stream, --include, --head and --output')
  }
  urlOf(address)
  const agent = asAgent(shell)
  const input = await readCall(shell, { ...options, url: address }, repeated)
  const url = urlOf(input.url)
  const grantId = options.grant ?? (await chooseGrant(agent, { ...input, url, signal: shell.interrupted }))
  const made = { ...options, shell, agent, grantId, input }
  if (options['dry-run']) return dryRun(made)
  if (shell.json) return envelope(made)
  const response = await throughApproval({ shell, agent, isSilent }, (onWaiting) =>
    proxied(agent, {
      ...input,
      ...waitOf(made),
      grantId,
      follow: options.location,
      timeoutMs: options.timeout === undefined ? (stream ? null : usualTimeoutMs) : options.timeout * 1000,
      idempotencyKey: options['idempotency-key'],
      reason: options.reason,
      signal: shell.interrupted,
      onWaiting,
    }),
  )
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
  reason: string | undefined
  wait: number | undefined
  silent: boolean
  'idempotency-key': string | undefined
}

function waitOf({ wait }: Made): { waitMs?: number } {
  return wait === undefined ? {} : { waitMs: wait * 1000 }
}

function wire({ grantId, input: { method, url, headers, body }, location, timeout, reason }: Made) {
  return {
    grant_id: grantId,
    method,
    url,
    headers,
    ...(body && { body_base64: body.toString('base64') }),
    ...(location && { follow_redirects: true }),
    ...(timeout !== undefined && { timeout_ms: timeout * 1000 }),
    ...(reason !== undefined && { reason }),
  }
}

async function envelope(made: Made): Promise<ExitCode> {
  const { shell, agent, silent: isSilent, 'idempotency-key': idempotencyKey } = made
  const reply: ProxyReply = await throughApproval({ shell, agent, isSilent }, (onWaiting) =>
    agent.proxy(wire(made), { ...waitOf(made), signal: shell.interrupted, idempotencyKey, onWaiting }),
  )
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
    output.line(verdictOf(answer, output.style))
  }
  return answer.allowed ? exitCodes.done : exitCodes.refused
}

function verdictOf({ allowed, asks, access, term, reason = '' }: DryRunReply, style: Style): string {
  const by = term === null ? '' : ` (${inLine(term)})`
  if (!allowed) return style('red', `refused: ${inLine(reason)}${by}`)
  return asks ? style('yellow', `a person has to approve it: ${inLine(access ?? '')}${by}`) : style('green', 'allowed')
}

function sayDropped({ output }: Shell, names: readonly string[]): void {
  output.say(`${output.sayStyle('yellow', 'sallyport:')} headers not forwarded: ${inLine(names.join(', '))}`)
}

function told({ output }: Shell, url: URL, status: number, isSilent: boolean): ExitCode {
  const code = codeOf(status)
  if (code !== exitCodes.done && !isSilent)
    output.say(`${output.sayStyle('yellow', 'sallyport:')} ${url.host} responded with ${status}`)
  return code
}

export function codeOf(status: number): ExitCode {
  if (status < 400) return exitCodes.done
  return status < 500 ? exitCodes.upstreamClientError : exitCodes.upstreamServerError
}

function urlOf(text: string): URL {
  try {
    return new URL(text)
  } catch {
    throw usageError(`<url>: got "${inLine(text)}"; expected an https URL`)
  }
}
