/**
 * Reads a body that must be inspected. What servers could read in two ways is not read: an attack would show the
 * harmless one here.
 */
import { isUtf8 } from 'node:buffer'
import { gunzipSync } from 'node:zlib'
import { ServiceError } from '../platform/errors.ts'
import { parseUnambiguousJson } from '../platform/json.ts'
import { readMultipart } from '../platform/multipart.ts'
import type { Part } from '../platform/multipart.ts'
import { maxInspectedBytes } from './body-checks.ts'
import { contentEncodingOf, isCompressed, mediaTypeOf } from './media-type.ts'
import type { JudgedCall } from './policy.ts'
import type { HeaderList } from './upstream.ts'

/** Its message continues a sentence: "The body can't be inspected: …". */
export class UnreadableBody extends Error {
  readonly field: string

  constructor(reason: string, field = 'body') {
    super(reason)
    this.name = 'UnreadableBody'
    this.field = field
  }
}

export type GivenBody = Pick<JudgedCall, 'headers' | 'body'>

/** The body's text, decompressed. */
export function readText({ headers, body = Buffer.alloc(0) }: GivenBody): string {
  const { charset, kind } = mediaTypeOf(headers)
  const isPlain = !isCompressed(headers)
  // A server that ignores the encoding could find a form or parts in the compressed bytes, but no JSON.
  if (!isPlain && (kind === 'form' || kind === 'multipart')) {
    throw new UnreadableBody('it is compressed. Send it uncompressed', 'headers.content-encoding')
  }
  const bytes = isPlain || body.length === 0 ? body : decompressed(body, contentEncodingOf(headers))
  if (charset === 'other') throw new UnreadableBody('its charset is not UTF-8', 'headers.content-type')
  if (charset === 'utf-8' && isUtf8(bytes)) return bytes.toString()
  // Names in forms and in the headers of parts are ASCII, whatever the bytes of the values are.
  if (charset === 'latin1' || kind !== 'json') return bytes.toString('latin1')
  throw new UnreadableBody('it is not UTF-8')
}

function decompressed(body: Buffer, encoding: string): Buffer {
  const field = 'headers.content-encoding'
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new UnreadableBody('its content encoding is not gzip. Send it uncompressed', field)
  }
  try {
    return gunzipSync(body, { maxOutputLength: maxInspectedBytes })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ServiceError('body_not_inspectable', { field: 'body', cause })
    }
    throw new UnreadableBody('it is not valid gzip', field)
  }
}

export function looksLikeJson(text: string): boolean {
  return /^[\s\0]*[[{]/.test(text.slice(0, 1000))
}

export function parseJson(text: string): unknown {
  try {
    return parseUnambiguousJson(text.replace(/^\uFEFF/, ''))
  } catch {
    throw new UnreadableBody('it is not JSON, gives a name twice, or has too many values')
  }
}

export function readParts(text: string, headers: HeaderList): Part[] {
  const { boundary } = mediaTypeOf(headers)
  const parts = boundary === undefined ? undefined : readMultipart(text, boundary)
  if (!parts) throw new UnreadableBody('it is not a multipart body that all parsers read alike')
  return parts
}

/** The members of a JSON value, at any depth. Those of an array have its name. */
export function membersIn(value: unknown): [name: string, value: unknown][] {
  const found: [string, unknown][] = [['', value]]
  for (let at = 0; at < found.length; at++) {
    const [name, one] = found[at] ?? ['']
    if (Array.isArray(one)) for (const inner of one as unknown[]) found.push([name, inner])
    else if (typeof one === 'object' && one !== null) for (const member of Object.entries(one)) found.push(member)
  }
  return found
}
