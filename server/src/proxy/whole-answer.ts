/**
 * A buffered answer in its envelope. Everything passes the redactor first. A JSON body is then checked and copied into
 * the envelope as it is, without being parsed into objects and written again.
 */
import { isUtf8 } from 'node:buffer'
import { decodeWhole } from '../platform/egress/decoding.ts'
import type { WholeAnswer } from '../platform/egress/answers.ts'
import { isJsonText } from '../platform/json.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { answerHeaders, contentEncodingOf, contentTypeOf } from './answer-headers.ts'
import type { Call } from './call.ts'

/** A small envelope is a string, sent in one write. A large one is encoded in pieces, as they are sent. */
export type Envelope = string | LongText

export interface LongText {
  /** Its length when it is sent. */
  bytes: number
  /** The memory it takes until then. */
  heldBytes: number
  pieces: () => Iterable<Buffer>
}

export function longText(parts: readonly (Buffer | LongText)[]): LongText {
  const longTexts = parts.map((part) =>
    Buffer.isBuffer(part) ? { bytes: part.length, heldBytes: part.length, pieces: () => [part] } : part,
  )
  return {
    bytes: longTexts.reduce((sum, { bytes }) => sum + bytes, 0),
    heldBytes: longTexts.reduce((sum, { heldBytes }) => sum + heldBytes, 0),
    *pieces() {
      for (const { pieces } of longTexts) yield* pieces()
    },
  }
}

export function toBuffer(envelope: Envelope): Buffer {
  return typeof envelope === 'string' ? Buffer.from(envelope) : Buffer.concat([...envelope.pieces()])
}

export function heldBytesOf(envelope: Envelope): number {
  return typeof envelope === 'string' ? Buffer.byteLength(envelope) : envelope.heldBytes
}

/** `bytes` is the length of the body as the agent gets it. `first` is the call as the agent asked for it, `last` as it was sent last, after redirects. */
export async function wholeAnswer(
  { first, last }: { first: Call; last: Call },
  response: WholeAnswer,
  redactor: Redactor,
  maxBytes: number,
): Promise<{ envelope: Envelope; bytes: number }> {
  const { status } = response
  const { host } = last.destination
  const contentEncoding = contentEncodingOf(response.headers)
  // Don't await what is available already: most answers are small, plain JSON.
  const decoded =
    contentEncoding === '' ? response.body : await decodeWhole(response.body, contentEncoding, maxBytes, host)
  // An answer without a body may keep its length, unless compressed: a compression ratio can reveal the credential.
  const isWithoutBody = last.method === 'HEAD' || status === 304
  const keepsLength = isWithoutBody && contentEncoding === ''
  const headers = answerHeaders(response.headers, redactor, keepsLength)
  const searched = redactor.body(decoded)
  const shown = searched instanceof Promise ? await searched : searched
  const contentType = contentTypeOf(response.headers)
  const { body, encoding }: EnvelopeBody = isJson(shown, contentType)
    ? { body: shown, encoding: 'json' }
    : await envelopeBody(shown, contentType, redactor)
  const before = `{"status":${status},"headers":${JSON.stringify(headers)},"body":`
  const dropped = JSON.stringify(first.droppedHeaders)
  const counted = `"body_encoding":"${encoding}","redactions":${redactor.count()}`
  const after = `,${counted},"dropped_headers":${dropped},"audit_id":"${first.auditId}"}`
  return { envelope: toEnvelope(before, body, after), bytes: shown.length }
}

const smallBytes = 65_536

function toEnvelope(before: string, body: EnvelopeBody['body'], after: string): Envelope {
  if (typeof body === 'string') return `${before}${body}${after}`
  if (Buffer.isBuffer(body) && body.length <= smallBytes) return `${before}${body.toString()}${after}`
  return longText([Buffer.from(before), body, Buffer.from(after)])
}

interface EnvelopeBody {
  /** JSON; bytes are UTF-8. */
  body: string | Buffer | LongText
  encoding: 'json' | 'text' | 'base64'
}

function isJson(bytes: Buffer, contentType: string): boolean {
  return /^application\/(?:[^;]+\+)?json\b/i.test(contentType) && isJsonText(bytes)
}

async function envelopeBody(bytes: Buffer, contentType: string, redactor: Redactor): Promise<EnvelopeBody> {
  if (bytes.length === 0) return { body: '""', encoding: 'text' }
  const text = await textOf(bytes, contentType, redactor)
  // A control character takes six characters in JSON.
  return text === undefined || (text.isUnchanged && (await doublesInJson(text.utf8)))
    ? { body: inBase64(bytes), encoding: 'base64' }
    : { body: await inJson(text.utf8), encoding: 'text' }
}

/** Takes about a millisecond to encode. A multiple of three, so that base64 needs no padding between slices. */
const sliceBytes = 3 * 65_536

const quotes = Buffer.from('"')

function inBase64(bytes: Buffer): EnvelopeBody['body'] {
  if (bytes.length <= sliceBytes) return `"${bytes.toString('base64')}"`
  const text: LongText = {
    bytes: 4 * Math.ceil(bytes.length / 3),
    heldBytes: bytes.length,
    *pieces() {
      for (let from = 0; from < bytes.length; from += sliceBytes)
        yield Buffer.from(bytes.toString('base64', from, from + sliceBytes), 'latin1')
    },
  }
  return longText([quotes, text, quotes])
}

async function inJson(utf8: Buffer): Promise<EnvelopeBody['body']> {
  const write = jsonWriter()
  if (utf8.length <= sliceBytes) return `"${write(utf8)}"`
  const parts = [quotes]
  for (let from = 0; from < utf8.length; from += sliceBytes) {
    parts.push(Buffer.from(write(utf8.subarray(from, from + sliceBytes))))
    await nextSlice()
  }
  return longText([...parts, quotes])
}

/** A character that is split between two slices is written with the second. */
function jsonWriter(): (slice: Buffer) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return (slice) => JSON.stringify(decoder.decode(slice, { stream: true })).slice(1, -1)
}

/** How many more characters than one each byte takes in a JSON string. */
const addedByByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x80 ? JSON.stringify(String.fromCharCode(byte)).length - 3 : 0,
)

/** Short text stays readable even if JSON doubles it. */
const readableBytes = 4096

/** Whether JSON would more than double it, as with control characters. Quotes and line ends alone never do. */
async function doublesInJson(text: Buffer): Promise<boolean> {
  if (text.length <= readableBytes) return false
  let added = 0
  for (let from = 0; from < text.length && added <= text.length; from += sliceBytes) {
    if (from > 0) await nextSlice()
    added += addedInJson(text.subarray(from, from + sliceBytes))
  }
  return added > text.length
}

/** A function of its own: V8 does not optimize loops inside async functions well. */
function addedInJson(text: Buffer): number {
  let added = 0
  for (let index = 0; index < text.length; index++) added += addedByByte[text[index] ?? 0] ?? 0
  return added
}

interface Text {
  utf8: Buffer
  /** Redacting the decoded text removed nothing more than redacting its bytes had. */
  isUnchanged: boolean
}

/** Decoded by the charset of its content type, or as UTF-8. Undefined if it is not valid. */
async function textOf(bytes: Buffer, contentType: string, redactor: Redactor): Promise<Text | undefined> {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1]
  const decoder = charset === undefined ? undefined : decoderFor(charset, bytes)
  if (decoder === undefined || decoder.encoding === 'utf-8')
    return isUtf8(bytes) ? { utf8: bytes, isUnchanged: true } : undefined
  const text = decodedBy(decoder, bytes)
  if (text === undefined) return undefined
  const encoded = Buffer.from(text)
  // Redacted again: in the other charset a credential may have been written with other bytes.
  const shown = await redactor.body(encoded)
  return { utf8: shown, isUnchanged: shown.equals(encoded) }
}

function decodedBy(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** RFC 2781 §3.3: the first two bytes of utf-16 say which byte order it is. */
function decoderFor(charset: string, bytes: Buffer) {
  const isBigEndian = charset.toLowerCase() === 'utf-16' && bytes[0] === 0xfe && bytes[1] === 0xff
  try {
    return new TextDecoder(isBigEndian ? 'utf-16be' : charset, { fatal: true })
  } catch {
    return undefined
  }
}
