/**
 * Removes credentials from responses. Headers, bodies and streams use the same search over bytes; a whole body is
 * treated like a stream that arrived in one chunk.
 */
import { minRedactable, redacted } from '../platform/secret.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import { findSecrets } from './find-secrets.ts'
import type { Span } from './find-secrets.ts'
import { heldFrom } from './held-back.ts'
import { replaceInText, replaceSpans } from './replace.ts'
import type { SecretForms } from './secret-forms.ts'

export interface Redactor {
  /** A header value, a status text or a trailer: Latin-1, as Node provides it. */
  text: (value: string) => string
  /** Returns the name in lower case. Secrets are found in any case, because names may change case in transit. */
  headerName: (value: string) => string
  /** A whole body. A large one is searched in slices, between which the event loop runs. */
  body: (value: Buffer) => Buffer | Promise<Buffer>
  stream: () => RedactedStream
  /** How many secrets were replaced so far. */
  count: () => number
}

export interface RedactedStream {
  /** Returns what can be sent now: a new buffer or a part of the chunk. A chunk of 64 KiB takes a few milliseconds. */
  push: (chunk: Uint8Array) => Buffer
  end: () => Buffer
}

const empty = Buffer.alloc(0)
const lowerMark = redacted.toLowerCase()
/** A window that consists of nothing but escapes takes about 2 ms. */
const windowBytes = 32_768
const sliceMs = 2
const maxNames = 32
const longestName = 50
const done = -1
/** Header text is copied here to be searched as bytes. */
const headerBytes = Buffer.allocUnsafeSlow(16_384)

/** `newest` returns the current secrets: a token may be refreshed while a response is streaming. */
export function createRedactor(first: SecretForms, newest: () => SecretForms = () => first): Redactor {
  let count = 0
  const redactText = (value: string, isLowerCase: boolean): string => {
    const forms = newest()
    if (value.length < minRedactable || !forms.search) return value
    const bytes = value.length > headerBytes.length ? Buffer.alloc(value.length) : headerBytes
    const to = value.length
    // For so few bytes a loop is faster than Buffer.write.
    for (let at = 0; at < to; at++) bytes[at] = value.charCodeAt(at)
    const spans = findSecrets(forms, { bytes, from: 0, to, isEnd: true }, isLowerCase)
    if (spans.length === 0) return value
    count += spans.length
    return replaceInText(value, spans)
  }
  /** Searches the name twice: as received, and in lower case, as it is forwarded. */
  const headerName = (value: string): string =>
    value.length < minRedactable
      ? value.toLowerCase()
      : redactText(redactText(value, false).toLowerCase(), true).replaceAll(lowerMark, redacted)
  const finish = (bytes: Buffer, spans: Span[]): Buffer => {
    if (spans.length === 0) return bytes
    const replaced = replaceSpans(bytes, { spans, covered: 0, to: bytes.length })
    count += replaced.count
    return replaced.out
  }
  return {
    text: (value) => redactText(value, false),
    headerName: (value) => {
      const { plainNames } = newest()
      const known = plainNames.get(value)
      if (known !== undefined) return known
      const before = count
      const name = headerName(value)
      if (plainNames.size >= maxNames) plainNames.clear()
      if (count === before && value.length <= longestName) plainNames.set(value, name)
      return name
    },
    body: (bytes) => {
      const forms = newest()
      if (bytes.length < minRedactable || !forms.search) return bytes
      if (bytes.length > windowOf(forms)) return findInSlices(forms, bytes).then((spans) => finish(bytes, spans))
      return finish(bytes, findSecrets(forms, { bytes, from: 0, to: bytes.length, isEnd: true }))
    },
    stream: () => createStream(newest, (more) => (count += more)),
    count: () => count,
  }
}

function windowOf({ longestForm }: SecretForms): number {
  return Math.max(windowBytes, 2 * longestForm)
}

/** Searches one window. Returns where the next one begins, or `done`: at the start of a form that may be incomplete. */
function findInWindow(forms: SecretForms, bytes: Buffer, from: number, isWhole: boolean, spans: Span[]): number {
  const to = Math.min(bytes.length, from + windowOf(forms))
  const isLast = to === bytes.length
  const next = isLast ? to : heldFrom(bytes, { known: from, fresh: from, to, most: forms.longestForm }, forms)
  for (const span of findSecrets(forms, { bytes, from, to, isEnd: isWhole && isLast })) {
    const last = spans.at(-1)
    if (last && span.from < last.to) last.to = Math.max(last.to, span.to)
    else if (span.from < next) spans.push(span)
  }
  return isLast ? done : next
}

async function findInSlices(forms: SecretForms, bytes: Buffer): Promise<Span[]> {
  const spans: Span[] = []
  await nextSlice()
  let since = performance.now()
  for (let from = 0; from !== done; from = findInWindow(forms, bytes, from, true, spans)) {
    if (performance.now() - since < sliceMs) continue
    await nextSlice()
    since = performance.now()
  }
  // Whatever the caller does next with such a long body takes time too.
  await nextSlice()
  return spans
}

function createStream(newest: () => SecretForms, counted: (more: number) => void): RedactedStream {
  let waiting: Buffer = empty
  let covered = 0
  const release = (forms: SecretForms, bytes: Buffer, to: number, isEnd: boolean): Buffer => {
    const spans: Span[] = []
    let from = 0
    while (from !== done) from = findInWindow(forms, bytes, from, isEnd, spans)
    const replaced = replaceSpans(bytes, { spans, covered, to })
    counted(replaced.count)
    covered = replaced.covered
    waiting = to === bytes.length ? empty : Buffer.from(bytes.subarray(to))
    return replaced.out
  }
  return {
    push: (chunk) => {
      const forms = newest()
      const fresh = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      if (!forms.search) return fresh
      const known = waiting.length
      const bytes = known === 0 ? fresh : Buffer.concat([waiting, fresh])
      // Twice the longest form: small chunks must not cause everything held back to be searched again each time.
      const most = 2 * forms.longestForm
      const to = heldFrom(bytes, { known: 0, fresh: known, to: bytes.length, most }, forms)
      if (to > 0) return release(forms, bytes, to, false)
      waiting = known === 0 ? Buffer.from(bytes) : bytes
      return empty
    },
    end: () => release(newest(), waiting, waiting.length, true),
  }
}
