/** One line an event, on standard error. Nothing that a caller sent is logged, and what looks like a token of ours is taken out at the very end. */
import pino from 'pino'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { redacted } from './secret.ts'
import { issuedTokenPattern } from './tokens.ts'

export type Log = Logger

interface Output {
  isTTY?: boolean
  write: (text: string) => unknown
}

export function createLog(config: Pick<Config, 'logLevel' | 'logFormat'>, output: Output = process.stderr): Log {
  const isText = config.logFormat === 'text' || (config.logFormat === 'auto' && output.isTTY === true)
  const destination = {
    write: (line: string) => {
      output.write((isText ? asText(line) : line).replaceAll(issuedTokenPattern, redacted))
    },
  }
  const options = {
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => describeError(error) },
  }
  return pino(options, destination)
}

interface ErrorDescription {
  name?: string
  code?: string | undefined
  message?: string
  stack?: string | undefined
  /** Of what was thrown and is no error. */
  type?: string
  cause?: ErrorDescription
}

/** A chain of causes that is longer leads nowhere, or round in a circle. */
const describedCauses = 5

/** PostgreSQL's errors carry rows and statements as further members: only these few are let through. */
function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack, cause } = error
  const code = (error as NodeJS.ErrnoException).code
  const hasCause = cause !== undefined && depth < describedCauses
  return { name, code, message, stack, ...(hasCause && { cause: describeError(cause, depth + 1) }) }
}

const levels: Record<number, string> = { 20: 'debug', 30: '', 40: 'warning ', 50: 'error ', 60: 'fatal ' }

/** For a person: the message first, then what it does not say already. */
function asText(line: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown> & {
    level: number
    time: string
    err?: ErrorDescription
  }
  const said = String(msg).split(' ')
  const members = Object.entries(rest)
    .filter(([, value]) => !said.includes(String(value)))
    .map(([name, value]) => `${name}=${String(value)}`)
  const words = [time.slice(11, 23), `${levels[level] ?? ''}${String(msg)}`, ...members]
  return `${words.join('  ')}\n${stacks(err)}`
}

function stacks(error: ErrorDescription | undefined): string {
  if (error?.stack === undefined) return ''
  const causes = stacks(error.cause)
  return `${error.stack}\n${causes === '' ? '' : `caused by ${causes}`}`
}
