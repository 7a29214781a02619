/** Turns what the upstream sent into what the agent gets. Everything passes through the redactor first. */
import { parseJson } from '../platform/json.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { HeaderList, UpstreamResponse } from './upstream.ts'

export interface Answer {
  status: number
  headers: Record<string, string | string[]>
  body: unknown
  bodyEncoding: 'json' | 'text' | 'base64'
}

/** Cookies would act for the account; the rest speaks of a connection that the agent has no part in. */
const neverReturned = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'set-cookie',
  'set-cookie2',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export async function readAnswer(
  response: UpstreamResponse,
  redactor: Redactor,
  signal: AbortSignal,
): Promise<Answer & { bytes: number }> {
  const headers = answerHeaders(response.headers, redactor)
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) {
    signal.throwIfAborted()
    chunks.push(chunk)
  }
  const received = Buffer.concat(chunks)
  const contentType = response.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? ''
  return {
    status: response.status,
    headers,
    ...decodeBody(await redactor.body(received), contentType),
    bytes: received.length,
  }
}

function answerHeaders(list: HeaderList, redactor: Redactor): Answer['headers'] {
  const headers = new Map<string, string[]>()
  for (const [name, value] of list) {
    const key = redactor.headerName(name)
    if (!neverReturned.has(key)) headers.set(key, [...(headers.get(key) ?? []), redactor.text(value)])
  }
  return Object.fromEntries(
    [...headers].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  )
}

function decodeBody(bytes: Buffer, contentType: string): Pick<Answer, 'body' | 'bodyEncoding'> {
  if (bytes.length === 0) return { body: '', bodyEncoding: 'text' }
  const text = asText(bytes)
  if (text === undefined) return { body: bytes.toString('base64'), bodyEncoding: 'base64' }
  if (!/^application\/(?:[^;]+\+)?json\b/i.test(contentType)) return { body: text, bodyEncoding: 'text' }
  try {
    return { body: parseJson(text), bodyEncoding: 'json' }
  } catch {
    return { body: text, bodyEncoding: 'text' }
  }
}

function asText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
