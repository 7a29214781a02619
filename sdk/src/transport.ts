/** The one way from a client to the service: its address, its credential, and what may come back. */
import { SallyportError } from './errors.ts'
import { errorIn } from './error-answer.ts'
import { readBounded } from './read-bounded.ts'
import { retrying, timerMs } from './retrying.ts'

export interface ClientOptions {
  /** Where the service is, such as `https://sallyport.example.com`. */
  baseUrl: string
  /** How long an answer may take, each time that it is asked for. 30 000 unless said otherwise. */
  timeoutMs?: number | undefined
  /**
   * How often a call is made again that can be made again without harm, when the service is busy or away. 2 unless said
   * otherwise; 0 leaves it to you, and then calls that exceed the agent's rate limit do not wait either.
   */
  retries?: number | undefined
  /** In place of the runtime's own. */
  fetch?: typeof globalThis.fetch | undefined
}

/** What any method takes as its last argument. */
export interface CallOptions {
  signal?: AbortSignal | undefined
  /** In place of the client's. */
  timeoutMs?: number | undefined
}

export interface WireCall {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  query?: object | undefined
  body?: unknown
  headers?: Record<string, string>
  /** The same call may be made twice, although it is no GET. */
  isRepeatable?: boolean
  /** How long it may wait in all where it exceeds a rate limit. Not at all unless said otherwise. */
  rateWaitMs?: number
  /** A redirect is an answer like any other. */
  showsRedirects?: boolean
}

export interface Transport {
  /** The answer as JSON. */
  json: <T>(call: WireCall, options?: CallOptions) => Promise<T>
  /** The answer as it comes, for as long as it comes. Only its head is waited for in time. */
  open: (call: WireCall, options?: CallOptions) => Promise<Response>
  /** From here on. */
  useToken: (token: string) => void
}

/** More than the largest answer that a proxied call brings in its envelope. */
const maxAnswerBytes = 64 * 1024 * 1024

/**
 * The caller's signal, kept for as long as the body can still come: `AbortSignal.any` does not keep its sources, and
 * Node collects an `AbortSignal.timeout` that nothing else refers to, so that it would never fire.
 */
const signalsOfBodies = new WeakMap<ReadableStream, AbortSignal>()

export function createTransport(options: ClientOptions, firstToken?: string): Transport {
  let token = checkedToken(firstToken)
  const { timeoutMs: usualMs = 30_000, retries = 2, fetch = globalThis.fetch.bind(globalThis) } = options
  const base = baseOf(options.baseUrl)

  async function ask<T>(call: WireCall, given: CallOptions, take: (response: Response) => Promise<T>): Promise<T> {
    const time = startTime(given.timeoutMs ?? usualMs, given.signal)
    try {
      const response = await fetch(`${base}${call.path}${queryOf(call.query)}`, init(call, token, time.signal))
      if (!isAnswer(response)) throw await errorIn(response)
      return await take(response)
    } catch (error) {
      if (time.signal.aborted) throw time.signal.reason
      if (error instanceof SallyportError) throw error
      throw new SallyportError('no_answer', 'The service did not respond.', { retryable: true, cause: error })
    } finally {
      time.stop()
    }
  }

  const askUntil = <T>(call: WireCall, given: CallOptions, take: (response: Response) => Promise<T>): Promise<T> =>
    retrying(() => ask(call, given, take), {
      retries: call.method === 'GET' || call.isRepeatable ? retries : 0,
      isKeyed: call.isRepeatable ?? false,
      rateWaitMs: retries > 0 ? (call.rateWaitMs ?? 0) : 0,
      signal: given.signal,
    })

  return {
    json: <T>(call: WireCall, given: CallOptions = {}) => askUntil(call, given, (response) => jsonIn<T>(response)),
    open: (call, given = {}) =>
      askUntil(call, given, (response) => {
        if (given.signal && response.body) signalsOfBodies.set(response.body, given.signal)
        return Promise.resolve(response)
      }),
    useToken: (next) => {
      token = checkedToken(next)
    },
  }
}

/** A refusal of the service says so; a streamed answer may have any status, and says that it is the upstream's. */
function isAnswer({ ok, redirected, headers }: Response): boolean {
  if (redirected) return false
  return headers.has('x-sallyport-upstream') ? !headers.has('x-sallyport-error') : ok
}

async function jsonIn<T>(response: Response): Promise<T> {
  const text = await readBounded(response, maxAnswerBytes)
  const { status } = response
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as T
  } catch {
    // Said below.
  }
  throw new SallyportError('unexpected_answer', 'The response is not JSON.', { status })
}

/** A browser shows a page nothing of a redirect that it is told not to follow. */
const hidesRedirects = 'document' in globalThis || 'WorkerGlobalScope' in globalThis

function init(call: WireCall, token: string | undefined, signal: AbortSignal): RequestInit {
  const { method, body, headers, showsRedirects = false } = call
  return {
    method,
    signal,
    // A credential is for one service, and follows nobody elsewhere. An upstream's redirect says nothing of where to.
    redirect: showsRedirects && hidesRedirects ? 'follow' : 'manual',
    // Where a bearer speaks, a cookie of somebody else's must not. Some runtimes have no cookies, and no such member.
    ...(token !== undefined && 'credentials' in Request.prototype && { credentials: 'omit' as const }),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }
}

function baseOf(given: string): string {
  const base = given.replace(/(?<!\/)\/+$/, '')
  // Empty: the page's own origin.
  if (base === '' || /^https?:\/\/[^/?#@]+(?:\/[^?#]*)?$/i.test(base)) return base
  throw new TypeError('baseUrl must be an http or https URL, such as https://sallyport.example.com.')
}

/** What no header can carry would come back in an error, for any log to keep. */
function checkedToken(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token.trim())) return token?.trim()
  throw new TypeError('The token is empty or contains invalid characters.')
}

function queryOf(query: object = {}): string {
  const members = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const text = new URLSearchParams(members.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

/** An id as one segment of a path, whatever it holds. */
export function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError('An id is missing.')
  return encodeURIComponent(id)
}

/** A signal that follows the given one, and aborts by itself when the time is up, unless it is stopped before. */
function startTime(timeoutMs: number, outer: AbortSignal | undefined) {
  const controller = new AbortController()
  const late = () => {
    controller.abort(new SallyportError('timeout', 'The service did not respond in time.', { retryable: true }))
  }
  const timer = setTimeout(late, timerMs(timeoutMs))
  return {
    signal: outer ? AbortSignal.any([outer, controller.signal]) : controller.signal,
    stop: () => {
      clearTimeout(timer)
    },
  }
}
