/** Sends one request and returns the response, which is an object. Otherwise throws an error with what is known. */
import { maxResultCiphertextBytes } from '@sallyport/protocol/v1/envelope'
import { LegacyError } from './errors.ts'

export type Answer = Record<string, unknown>
export type Exchange = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Answer>

/** Enough for the largest result in base64url and the members beside it. */
const maxAnswerLength = 2 * maxResultCiphertextBytes

export function exchangeWith(baseUrl: string, fetch: typeof globalThis.fetch, timeoutMs: number): Exchange {
  const base = baseUrl.replace(/(?<!\/)\/+$/, '')
  return async (method, path, body) => {
    const { status, text } = await ask(fetch, `${base}${path}`, {
      method,
      // An envelope is meant for one service: never follow a redirect.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    const answer = parse(text)
    if (status >= 200 && status < 300 && answer) return answer
    throw refusalOf(status, answer)
  }
}

async function ask(fetch: typeof globalThis.fetch, url: string, request: RequestInit) {
  try {
    const response = await fetch(url, request)
    return { status: response.status, text: await textOf(response) }
  } catch (cause) {
    if (cause instanceof LegacyError) throw cause
    throw new LegacyError('no_answer', 'The service did not respond.', { cause })
  }
}

/** Limits the size: a man in the middle could send an endless response. */
async function textOf({ status, body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  const reader = (body as ReadableStream<Uint8Array> | null)?.getReader()
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    text += decoder.decode(part.value, { stream: true })
    if (text.length <= maxAnswerLength) continue
    await reader?.cancel()
    throw new LegacyError('unexpected_answer', 'The response is too large.', { status })
  }
  return text + decoder.decode()
}

function refusalOf(status: number, answer: Answer | undefined): LegacyError {
  const error = asObject(answer?.['error'])
  const { code, message } = error ?? {}
  if (typeof code !== 'string')
    return new LegacyError('unexpected_answer', `Unexpected response with status ${status}.`, { status })
  return new LegacyError(code, typeof message === 'string' ? message : 'The service refused the request.', { status })
}

function parse(text: string): Answer | undefined {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

function asObject(value: unknown): Answer | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : undefined
}

/** A required string member. */
export function textIn(answer: Answer, name: string): string {
  const value = answer[name]
  if (typeof value !== 'string') throw new LegacyError('unexpected_answer', `The response has no ${name}.`)
  return value
}
