/**
 * A call's body for people: formatted if it reads in exactly one way, otherwise as it is, and cut. What could mislead is
 * visible as an escape, and our own tokens are redacted.
 */
import { isUtf8 } from 'node:buffer'
import type { ShownBody } from '@sallyport/protocol/calls'
import { looksLikeJson, parseJson, readText } from '../../proxy/body-content.ts'
import type { GivenBody } from '../../proxy/body-content.ts'
import { isCompressed, mediaTypeOf } from '../../proxy/media-type.ts'
import { readForm } from './call-content.ts'
import { layOutJson } from './json-layout.ts'
import { visibleCharacters, withoutTokens } from './visible-text.ts'

export const maxShownBytes = 32 * 1024

/** Pass a body that the redactor of the connection's secrets has seen: a secret could otherwise be cut in two here. */
export function shownBody({ headers, body }: GivenBody): ShownBody {
  if (!body || body.length === 0) return { kind: 'none', text: '', is_cut: false }
  const text = textOf({ headers, body })
  if (text === undefined) {
    const compressed = isCompressed(headers) ? ', compressed' : ''
    return { kind: 'binary', text: `binary, ${body.length} bytes${compressed}`, is_cut: false }
  }
  const { kind } = mediaTypeOf(headers)
  const plain = withoutTokens(text)
  if (kind !== 'form' && kind !== 'multipart' && looksLikeJson(plain) && isJson(plain)) {
    return { kind: 'json', ...cut(layOutJson(plain.replace(/^\uFEFF/, ''))) }
  }
  const pairs = kind === 'form' ? readForm(plain) : undefined
  if (pairs) return { kind: 'form', ...cut(formLines(pairs)) }
  return { kind: 'text', ...cut(visibleCharacters(plain.replaceAll('\r\n', '\n'), { keeps: '\n\t' })) }
}

/** Undefined unless it is UTF-8 without characters that no text has. */
function textOf(given: GivenBody & { body: Buffer }): string | undefined {
  const { kind, charset } = mediaTypeOf(given.headers)
  let text: string
  if (isCompressed(given.headers)) {
    // Decompressed text that is not JSON could be Latin-1.
    if (kind !== 'json' || charset !== 'utf-8') return undefined
    try {
      text = readText(given)
    } catch {
      return undefined
    }
  } else {
    if (!isUtf8(given.body) || (charset !== 'utf-8' && !isAscii(given.body))) return undefined
    text = given.body.toString()
  }
  return text.includes('\u0000') ? undefined : text
}

function isAscii(bytes: Buffer): boolean {
  return bytes.every((byte) => byte < 0x80)
}

function isJson(text: string): boolean {
  try {
    parseJson(text)
    return true
  } catch {
    return false
  }
}

function* formLines(pairs: readonly (readonly [name: string, value: string])[]): Generator<string> {
  for (const [index, [name, value]] of pairs.entries()) {
    if (index > 0) yield '\n'
    yield* visibleCharacters(withoutTokens(name))
    yield ' = '
    yield* visibleCharacters(withoutTokens(value))
  }
}

/** At a character's boundary. A piece is short, so at most that much less is shown. */
function cut(pieces: Iterable<string>): { text: string; is_cut: boolean } {
  const kept: string[] = []
  let bytes = 0
  for (const piece of pieces) {
    bytes += Buffer.byteLength(piece)
    if (bytes > maxShownBytes) return { text: kept.join(''), is_cut: true }
    kept.push(piece)
  }
  return { text: kept.join(''), is_cut: false }
}
