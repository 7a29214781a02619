/** The answer of a call that was held, which is kept in an envelope, as the upstream sent it. */
import { namedHeaders, sendable } from '../proxy/answer-headers.ts'
import type { HeaderNaming } from '../proxy/answer-headers.ts'
import { sandboxedFor } from '../proxy/streamed-answer.ts'
import type { HeaderList } from '../proxy/upstream.ts'
import { toBuffer } from '../proxy/whole-answer.ts'
import type { Envelope } from '../proxy/whole-answer.ts'

interface Parts {
  status: number
  headers: Record<string, string | string[]>
  body: unknown
  body_encoding: 'json' | 'text' | 'base64'
  dropped_headers: string[]
  audit_id: string
}

export interface StoredAnswer {
  status: number
  headers: HeaderList
  body: Buffer
}

export function openEnvelope(envelope: Envelope, naming: HeaderNaming, url: URL): StoredAnswer {
  const text = toBuffer(envelope).toString()
  const parts = JSON.parse(text) as Parts
  const list = Object.entries(parts.headers).flatMap(([name, values]) =>
    [values].flat().map((value): HeaderList[number] => [name, name === 'content-type' ? typeOf(parts, value) : value]),
  )
  const dropped: HeaderList =
    parts.dropped_headers.length > 0 ? [['x-sallyport-dropped-headers', parts.dropped_headers.join(', ')]] : []
  return {
    status: parts.status,
    headers: [
      ...namedHeaders(list, naming, url).map(([name, value]): HeaderList[number] => [name, sendable(value)]),
      ['x-sallyport-audit-id', parts.audit_id],
      ['x-sallyport-upstream', '1'],
      ...dropped,
      ...sandboxedFor(naming),
    ],
    body: bodyOf(parts, text),
  }
}

/** Text was decoded by its charset, and is UTF-8 in the envelope. */
function typeOf({ body_encoding: encoding }: Parts, type: string): string {
  return encoding === 'text' ? type.replace(/;\s*charset=[^;]*/i, '; charset=utf-8') : type
}

function bodyOf({ body, body_encoding: encoding }: Parts, text: string): Buffer {
  if (encoding === 'base64') return Buffer.from(String(body), 'base64')
  if (encoding === 'text') return Buffer.from(String(body))
  // As it is written: parsed and written again, large numbers would differ. Headers contain no objects, and nothing after
  // the body has such a member.
  const begins = '},"body":'
  return Buffer.from(text.slice(text.indexOf(begins) + begins.length, text.lastIndexOf(',"body_encoding":"')))
}
