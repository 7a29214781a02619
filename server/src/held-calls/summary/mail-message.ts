/** A raw e-mail as a person would read it: who gets it, what it says, which files it has. Undefined if that is open. */
import { readParameters } from '../../platform/multipart.ts'
import { decodeCharset, decodeWords, readAddresses, readBase64, readMailHeaders } from './mail-headers.ts'
import type { MailHeaders } from './mail-headers.ts'

export interface MailMessage {
  to: string[]
  cc: string[]
  bcc: string[]
  from: string[]
  replyTo: string[]
  subject: string
  /** Undefined: it has none. */
  text: string | undefined
  html: string | undefined
  /** Names of attachments. */
  files: string[]
}

const deepest = 5
const mostParts = 100

export function readMessage(bytes: Buffer): MailMessage | undefined {
  const headers = readMailHeaders(bytes.toString('latin1'))
  if (!headers) return undefined
  const addresses = (name: string) => {
    const value = headers.fields.get(name)
    return value === undefined ? [] : readAddresses(value)
  }
  const [to, cc, bcc] = [addresses('to'), addresses('cc'), addresses('bcc')]
  const [from, replyTo] = [addresses('from'), addresses('reply-to')]
  const subject = decodeWords(headers.fields.get('subject') ?? '')
  if (!to || !cc || !bcc || !from || !replyTo || subject === undefined) return undefined
  const found: Content = { text: undefined, html: undefined, files: [], parts: 0 }
  if (!readEntity(headers, found, 0)) return undefined
  const { text, html, files } = found
  return { to, cc, bcc, from, replyTo, subject, text, html, files }
}

interface Content extends Pick<MailMessage, 'text' | 'html' | 'files'> {
  parts: number
}

interface ContentType {
  type: string
  parameters: ReadonlyMap<string, string>
}

/** Adds what a message or a part contains. False if it can't be read. */
function readEntity({ fields, newline, rest }: MailHeaders, found: Content, depth: number): boolean {
  const contentType = readContentType(fields.get('content-type') ?? 'text/plain')
  const disposition = readContentType(fields.get('content-disposition') ?? 'inline', /^[\w-]{1,40}/)
  if (!contentType || !disposition || ++found.parts > mostParts) return false
  const { type, parameters } = contentType
  const encoding = (fields.get('content-transfer-encoding') ?? '7bit').toLowerCase()
  if (type.startsWith('multipart/')) {
    const boundary = parameters.get('boundary')
    const isPlain =
      boundary !== undefined && /^[\w'()+,./:=? -]{1,70}$/.test(boundary) && /^(?:7bit|8bit|binary)$/.test(encoding)
    const parts = isPlain && depth < deepest ? partsOf(rest, boundary, newline) : undefined
    return parts?.every((part) => readPart(part, newline, found, depth + 1)) ?? false
  }
  const file = disposition.parameters.get('filename') ?? parameters.get('name')
  if (file !== undefined || disposition.type === 'attachment' || !/^text\/(?:plain|html)$/.test(type)) {
    const name = file === undefined ? `(${type})` : decodeWords(file)
    if (name === undefined) return false
    found.files.push(name)
    return true
  }
  const text = readText(rest, encoding, parameters.get('charset') ?? 'us-ascii')
  const member = type === 'text/html' ? 'html' : 'text'
  if (text === undefined || found[member] !== undefined) return false
  found[member] = text
  return true
}

function readPart(text: string, newline: string, found: Content, depth: number): boolean {
  const headers = readMailHeaders(text.includes(newline) ? text : `${text}${newline}`)
  return (
    headers !== undefined &&
    (headers.newline === newline || headers.fields.size === 0) &&
    readEntity(headers, found, depth)
  )
}

/** Undefined unless the boundary is nowhere but in its lines, and nothing precedes the first or follows the last. */
function partsOf(text: string, boundary: string, newline: string): string[] | undefined {
  const line = `--${boundary}`
  if (!text.startsWith(line)) return undefined
  const pieces = `${newline}${text}`.split(`${newline}${line}`)
  const [, ...parts] = pieces
  const last = parts.pop()
  if (last === undefined || !last.startsWith('--') || last.slice(2).trim() !== '' || parts.length === 0)
    return undefined
  const isPlain = parts.every((part) => part.startsWith(newline) && !part.includes(line))
  return isPlain ? parts.map((part) => part.slice(newline.length)) : undefined
}

/** Undefined if parsers could differ: a parameter given twice, in pieces (RFC 2231) or encoded. */
function readContentType(value: string, form = /^[\w+.-]{1,60}\/[\w+.-]{1,80}/): ContentType | undefined {
  const [written] = form.exec(value) ?? []
  if (written === undefined) return undefined
  const rest = value.slice(written.length).trimStart()
  const pairs = readParameters(rest)
  const parameters = new Map(pairs)
  if (!pairs || parameters.size !== pairs.length || pairs.some(([name]) => name.includes('*'))) return undefined
  return { type: written.toLowerCase(), parameters }
}

function readText(text: string, encoding: string, charset: string): string | undefined {
  const bytes = decodeTransfer(text, encoding)
  if (!bytes) return undefined
  // A missing charset means ASCII; what is sent without one is often UTF-8.
  return decodeCharset(bytes, charset.toLowerCase()) ?? decodeCharset(bytes, charset === 'us-ascii' ? 'utf-8' : '')
}

function decodeTransfer(text: string, encoding: string): Buffer | undefined {
  if (encoding === '7bit' || encoding === '8bit' || encoding === 'binary') return Buffer.from(text, 'latin1')
  if (encoding === 'base64') return readBase64(text.replaceAll('\r', '').replaceAll('\n', ''))
  return encoding === 'quoted-printable' ? readQuotedPrintable(text) : undefined
}

function readQuotedPrintable(text: string): Buffer | undefined {
  const joined = text.replaceAll('=\r\n', '').replaceAll('=\n', '')
  if (/=(?![0-9A-F]{2})/i.test(joined)) return undefined
  return Buffer.from(
    joined.replace(/=([0-9A-F]{2})/gi, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  )
}
