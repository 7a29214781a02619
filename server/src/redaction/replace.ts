/** Replaces each match with `[REDACTED]`, in the same character width as the match. */
import { redacted } from '../platform/secret.ts'
import type { Span } from './find-secrets.ts'

const plain = Buffer.from(redacted, 'latin1')

export interface Replacing {
  /** In order, without overlaps. */
  spans: readonly Span[]
  /** This many bytes at the start belong to a secret that was replaced already. */
  covered: number
  /** The bytes from here on are held back. */
  to: number
}

/** Returns the output, the number of replacements, and how many bytes after `to` belong to the last secret. */
export function replaceSpans(bytes: Buffer, { spans, covered, to }: Replacing) {
  const parts: Buffer[] = []
  let count = 0
  let done = covered
  for (const span of spans) {
    if (span.from >= to) break
    if (span.from >= done) {
      const { from, end, text } = replacementFor(bytes, span)
      parts.push(bytes.subarray(done, Math.max(from, done)), text)
      count++
      done = end
    } else done = Math.max(done, span.to)
  }
  if (done < to) parts.push(bytes.subarray(done, to))
  const out = parts.length === 1 ? (parts[0] ?? plain) : Buffer.concat(parts)
  return { out, count, covered: Math.max(0, done - to) }
}

/** For text in which each character is one byte. */
export function replaceInText(text: string, spans: readonly Span[]): string {
  let out = ''
  let done = 0
  for (const { from, to, separator } of spans) {
    out += text.slice(done, from) + (separator ? redactedAsNumbers(separator) : redacted)
    done = to
  }
  return out + text.slice(done)
}

function replacementFor(bytes: Buffer, span: Span): { from: number; end: number; text: Buffer } {
  const { from, to, separator } = span
  return separator
    ? { from, end: to, text: Buffer.from(redactedAsNumbers(separator)) }
    : replacementInWidth(bytes, span)
}

/** A list of numbers is replaced with a list of numbers, so JSON stays valid. */
function redactedAsNumbers(separator: string): string {
  return [...plain].join(separator)
}

/** In UTF-16 and UTF-32 each ASCII character has NULs after or before it. They are replaced along with it. */
function replacementInWidth(bytes: Buffer, { from, to }: Span): { from: number; end: number; text: Buffer } {
  let width = 1
  while (width < 4 && bytes[from + width] === 0) width++
  if (width !== 2 && width !== 4) return { from, end: to, text: plain }
  const isLowFirst = hasNulls(bytes, to, width - 1)
  const isHighFirst = hasNulls(bytes, from - width + 1, width - 1)
  if (!isLowFirst && !isHighFirst) return { from, end: to, text: plain }
  // With NULs on both sides either reading gives the same bytes.
  const isHigh = !isLowFirst
  const text = Buffer.alloc(plain.length * width)
  plain.forEach((byte, index) => (text[index * width + (isHigh ? width - 1 : 0)] = byte))
  return isHigh ? { from: from - width + 1, end: to, text } : { from, end: to + width - 1, text }
}

function hasNulls(bytes: Buffer, from: number, count: number): boolean {
  if (from < 0) return false
  for (let at = from; at < from + count; at++) if (bytes[at] !== 0) return false
  return true
}
