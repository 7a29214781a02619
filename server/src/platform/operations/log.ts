/** Logs to standard error, one line per event. Nothing that a caller sent is logged, and anything that looks like an issued token is redacted. */
import { hostname } from 'node:os'
import pino from 'pino'
import type { Logger } from 'pino'
import type { PlatformConfig } from '../config/platform-settings.ts'
import { redacted } from '../secret.ts'
import { issuedTokenPattern } from '../tokens.ts'

export type Log = Logger

interface Output {
  isTTY?: boolean
  write: (text: string) => unknown
}

export function createLog(
  config: Pick<PlatformConfig, 'logLevel' | 'logFormat'>,
  output: Output = process.stderr,
  version?: string,
): Log {
  const isText = config.logFormat === 'text' || (config.logFormat === 'auto' && output.isTTY === true)
  const destination = {
    write: (line: string) => {
      output.write((isText ? asText(line) : line).replaceAll(issuedTokenPattern, redacted))
    },
  }
  const sampled = createStackSampling()
  const options = {
    level: config.logLevel,
    base: isText ? null : { instance: `${hostname()}:${process.pid}`, version },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
    serializers: { err: (error: unknown) => sampled(describeError(error)) },
  }
  return pino(options, destination)
}

interface ErrorDescription {
  name?: string
  code?: string | undefined
  message?: string
  stack?: string | undefined
  /** For thrown values that are not errors. */
  type?: string
  cause?: ErrorDescription
  /** How often the same error was logged since its stacks were last printed, this time included. */
  repeated?: number
}

/** Limits chains of causes, which may be circular. */
const describedCauses = 5

/** Only these members: PostgreSQL's errors also have members with rows and statements. */
function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack, cause } = error
  const code = (error as NodeJS.ErrnoException).code
  const hasCause = cause !== undefined && depth < describedCauses
  return { name, code, message, stack, ...(hasCause && { cause: describeError(cause, depth + 1) }) }
}

const stacksEveryMs = 60_000
/** Messages may vary, so only the latest are remembered. */
const rememberedErrors = 256

/** A repeated error is logged with its stack traces once a minute, in between with a count only. */
export function createStackSampling(monotonicMs: () => number = () => performance.now()) {
  const seen = new Map<string, { printedAt: number; repeated: number }>()
  return (error: ErrorDescription): ErrorDescription => {
    const key = keyOf(error)
    const before = seen.get(key)
    const now = monotonicMs()
    if (before && now - before.printedAt < stacksEveryMs)
      return { ...withoutStacks(error), repeated: ++before.repeated }
    // Moves it to the end of the map, so that it is evicted last.
    seen.delete(key)
    seen.set(key, { printedAt: now, repeated: 0 })
    const [oldest = key] = seen.keys()
    if (seen.size > rememberedErrors) seen.delete(oldest)
    return before && before.repeated > 0 ? { ...error, repeated: before.repeated + 1 } : error
  }
}

function keyOf({ name, code, message, type, cause }: ErrorDescription): string {
  return JSON.stringify([name, code, message, type, cause && keyOf(cause)])
}

function withoutStacks(error: ErrorDescription): ErrorDescription {
  const { cause } = error
  return { ...error, stack: undefined, ...(cause && { cause: withoutStacks(cause) }) }
}

/** For people: the message, then members that it doesn't mention already. */
function asText(line: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown> & {
    level: string
    time: string
    err?: ErrorDescription
  }
  const said = String(msg).split(' ')
  const members = Object.entries(rest)
    .filter(([, value]) => !said.includes(String(value)))
    .map(([name, value]) => `${name}=${String(value)}`)
  const levelWord = level === 'info' ? '' : level === 'warn' ? 'warning ' : `${level} `
  const words = [time.slice(11, 23), `${levelWord}${String(msg)}`, ...members]
  return `${words.join('  ')}\n${stacks(err)}`
}

function stacks(error: ErrorDescription | undefined): string {
  if (error?.message === undefined) return ''
  const { name, message, stack = `${name ?? 'Error'}: ${message}`, repeated } = error
  const causes = stacks(error.cause)
  const count = repeated === undefined ? '' : `(repeated ${repeated} times)\n`
  return `${stack}\n${count}${causes === '' ? '' : `caused by ${causes}`}`
}
