/** An error that ends a command: one line for people, an object for scripts, and an exit code. */
import { SallyportError } from '@sallyport/sdk'
import { exitCodes } from './exit-codes.ts'
import type { ExitCode } from './exit-codes.ts'
import { shellWord } from './shell-word.ts'

interface FailureDetails {
  hint?: string
  code?: string
  facts?: Record<string, unknown>
  isSilent?: boolean
}

/** An error of the CLI itself. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode
  /** What to do, printed on its own line. */
  readonly hint: string | undefined
  readonly code: string
  /** Further details for scripts. */
  readonly facts: Record<string, unknown>
  /** Print nothing: the exit code is enough. */
  readonly isSilent: boolean

  constructor(exitCode: ExitCode, message: string, details: FailureDetails = {}) {
    const { hint, code = 'cli', facts = {}, isSilent = false } = details
    super(message)
    this.exitCode = exitCode
    this.hint = hint
    this.code = code
    this.facts = facts
    this.isSilent = isSilent
  }
}

export function usageError(message: string, hint?: string): CommandFailure {
  return new CommandFailure(exitCodes.usage, message, { code: 'usage', ...(hint !== undefined && { hint }) })
}

export interface Failure {
  exitCode: ExitCode
  code: string
  message: string
  hint: string | undefined
  /** Further details for scripts. */
  facts: Record<string, unknown>
}

export function describeFailure(error: unknown): Failure {
  if (error instanceof CommandFailure) {
    const { exitCode, code, message, hint, facts } = error
    return { exitCode, code, message, hint, facts }
  }
  if (error instanceof SallyportError) return ofService(error)
  const message = error instanceof Error ? error.message : String(error)
  return { exitCode: exitCodes.unexpected, code: 'unexpected', message, hint: undefined, facts: {} }
}

function ofService(error: SallyportError): Failure {
  const { code, message, retryable, field, requestId, accessRequest, upstreamStatus, call, denialReason } = error
  return {
    exitCode: exitCodeOf(error),
    code,
    message: field === undefined || error.status !== 400 || message.includes(field) ? message : `${message} (${field})`,
    hint: accessRequest ? `Request access: ${requestLine(accessRequest)}` : hintOf(error),
    facts: {
      retryable,
      ...(field !== undefined && { field }),
      ...(upstreamStatus !== undefined && { upstream_status: upstreamStatus }),
      ...(accessRequest && { access_request: accessRequest }),
      ...(call && { call_id: call.callId, approval_url: call.approvalUrl }),
      ...(denialReason !== undefined && { denial_reason: denialReason }),
      ...(requestId !== undefined && { request_id: requestId }),
    },
  }
}

const hints: Partial<Record<SallyportError['code'], string>> = {
  unauthenticated:
    'Check which token is used: sallyport whoami. Register a new agent: sallyport register. Sign in again: sallyport login.',
}

function hintOf({ code, field }: SallyportError): string | undefined {
  return code === 'not_found' && field === 'provider' ? 'List providers: sallyport providers' : hints[code]
}

function exitCodeOf({ code, retryable, status = 0 }: SallyportError): ExitCode {
  if (/^(?:access|call)_(?:denied|expired|cancelled)$/.test(code)) return exitCodes.denied
  if (code === 'approval_pending') return exitCodes.pending
  if (code === 'unauthenticated') return exitCodes.credential
  // The call was made, or may have been.
  if (code.startsWith('upstream_') || code === 'outcome_unknown') return exitCodes.upstream
  if (retryable || code === 'no_answer' || code === 'timeout') return exitCodes.unavailable
  if (code === 'internal' || code === 'unexpected_answer') return exitCodes.unexpected
  return status === 400 || status === 413 ? exitCodes.usage : exitCodes.refused
}

/** The command that requests the access that was refused. */
export function requestLine({
  provider,
  hosts,
  methods,
}: {
  provider: string
  hosts: string[]
  methods: string[]
}): string {
  const words = [
    ...['sallyport', 'request', provider],
    ...hosts.flatMap((host) => ['--host', host]),
    ...methods.flatMap((method) => ['--method', method]),
  ]
  return words.map(shellWord).join(' ')
}
