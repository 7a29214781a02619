/** Sends every request of a client: base URL, credential, timeout, retries, and checks of the response. */
import { SallyportError } from './errors.ts'
import { streamedCallType } from '@sallyport/protocol/streamed-call'
import { errorIn } from './error-answer.ts'
import { readBounded } from './read-bounded.ts'
import { followedBy } from './request-body.ts'
import type { Upload } from './request-body.ts'
import { retrying, timerMs } from './retrying.ts'

export interface ClientOptions {
  /** The service's URL, such as `https://sallyport.example.com`. */
  baseUrl: string
  /** Timeout of each attempt. Default: 30,000. */
  timeoutMs?: number | undefined
  /**
   * How often to retry a call that is safe to repeat when the service is busy or unavailable. Default: 2. With 0, calls
   * that exceed the agent's rate limit do not wait either.
   */
  retries?: number | undefined
  /** Default: the runtime's `fetch`. */
  fetch?: typeof globalThis.fetch | undefined
}

/** The last argument of every method. */
export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Overrides the client's timeout. */
  timeoutMs?: number | undefined
}

export interface WireCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: object | undefined
  body?: unknown
  /** The body of the proxied call, sent after `body`. */
  upload?: Upload
  headers?: Record<string, string>
  /** The call can be repeated safely although it is not a GET. */
  isRepeatable?: boolean
  /** How long the call may wait in total when rate limited. Default: 0. */
  rateWaitMs?: number
  /** A redirect is returned like any other response. */
  showsRedirects?: boolean
}

export interface Transport {
  /** Resolves to the response's JSON. */
  json: <T>(call: WireCall, options?: CallOptions) => Promise<T>
  /** Resolves to the response as soon as its headers arrive. The timeout does not apply to the body. */
  open: (call: WireCall, options?: CallOptions) => Promise<Response>
  /** Replaces the token for all later calls. */
  useToken: (token: string) => void
}

/** More than the largest response of a proxied call. */
const maxAnswerBytes = 64 * 1024 * 1024

/**
 * Keeps the caller's signal alive while the body is read: `AbortSignal.any` doesn't, and Node garbage-collects an
 * `AbortSignal.timeout` that nothing else refers to, so that it would never fire.
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

/** A streamed response of an upstream may have any status. A refusal by the service has x-sallyport-error. */
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
    // Thrown below.
  }
  throw new SallyportError('unexpected_answer', 'The response is not JSON.', { status })
}

/** Browsers hide everything about a redirect that is not followed. */
const hidesRedirects = 'document' in globalThis || 'WorkerGlobalScope' in globalThis

function init(call: WireCall, token: string | undefined, signal: AbortSignal): RequestInit {
  const { method, body, upload, headers, showsRedirects = false } = call
  return {
    method,
    signal,
    // Never send the credential to another server. An upstream's redirect has no Location here, only a prefixed one.
    redirect: showsRedirects && hidesRedirects ? 'follow' : 'manual',
    // With a bearer token, don't send cookies: they may belong to another user. Some runtimes lack `credentials`.
    ...(token !== undefined && 'credentials' in Request.prototype && { credentials: 'omit' as const }),
    headers: {
      ...(body !== undefined && { 'content-type': upload ? streamedCallType : 'application/json' }),
      ...(upload && { 'x-sallyport-redirects': 'as-200' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(upload
      ? { ...withUpload(`${JSON.stringify(body)}\n`, upload, signal) }
      : body !== undefined && { body: JSON.stringify(body) }),
  }
}

/**
 * A Blob has a length, and is never in memory as a whole. Node's `fetch` keeps a copy of the body for redirects, unless
 * they are errors and `window` is null.
 */
function withUpload(line: string, upload: Upload, signal: AbortSignal): RequestInit & { duplex?: 'half' } {
  const once = { redirect: 'error', window: null } as const
  if (upload instanceof Blob) return { ...once, body: new Blob([line, upload]) }
  const body = followedBy([new TextEncoder().encode(line)], upload.getReader(), signal)
  return { ...once, body, duplex: 'half' }
}

function baseOf(given: string): string {
  const base = given.replace(/(?<!\/)\/+$/, '')
  // Empty means the page's own origin.
  if (base === '' || /^https?:\/\/[^/?#@]+(?:\/[^?#]*)?$/i.test(base)) return base
  throw new TypeError('baseUrl must be an http or https URL, such as https://sallyport.example.com.')
}

/** An invalid header value would appear in the runtime's error message, and so in logs. */
function checkedToken(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token.trim())) return token?.trim()
  throw new TypeError('The token is empty or contains invalid characters.')
}

function queryOf(query: object = {}): string {
  const members = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const text = new URLSearchParams(members.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

/** Escapes an id as one path segment. */
export function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError('An id is missing.')
  return encodeURIComponent(id)
}

/** A signal that follows the given one and aborts after the timeout, unless stopped. */
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
