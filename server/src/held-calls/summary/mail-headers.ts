/**
 * Header fields of a raw e-mail (RFC 5322, RFC 2047), read only if all mail programs read them alike: a field that counts
 * is given once, addresses are plain, and encoded words are complete. Undefined otherwise.
 */

export interface MailHeaders {
  /** By name, in lower case. Fields that may be repeated are joined. */
  fields: ReadonlyMap<string, string>
  newline: string
  /** What follows the empty line. */
  rest: string
}

const maxFields = 200
const maxFieldLength = 16_384
/** Of these a second one would be read by some and not by others. */
const once = new Set([
  ...['to', 'cc', 'bcc', 'from', 'sender', 'reply-to', 'subject', 'date', 'message-id', 'in-reply-to', 'references'],
  ...['content-type', 'content-transfer-encoding', 'content-disposition', 'mime-version'],
])
/** Other ways to name recipients. */
const otherRecipients = /^(?:resent-|apparently-to$|x-(?:original-)?to$|envelope-to$|delivered-to$|original-recipient$)/

/** `text` has a character for each byte. */
export function readMailHeaders(text: string): MailHeaders | undefined {
  const first = text.indexOf('\n')
  const newline = text.charAt(first - 1) === '\r' ? '\r\n' : '\n'
  const end = text.startsWith(newline) ? 0 : text.indexOf(newline + newline)
  if (first === -1 || end === -1) return undefined
  const fields = new Map<string, string>()
  let count = 0
  for (const field of unfolded(text.slice(0, end), newline)) {
    const [, written = '', value] = /^([\w-]{1,76}):(.*)$/.exec(field) ?? []
    const name = written.toLowerCase()
    // Bytes beyond ASCII are UTF-8 for some and Latin-1 for others.
    const isPlain = value !== undefined && value.length <= maxFieldLength && /^[\t\x20-\x7e]*$/.test(value)
    if (!isPlain || ++count > maxFields || otherRecipients.test(name)) return undefined
    const before = fields.get(name)
    if (before !== undefined && once.has(name)) return undefined
    fields.set(name, before === undefined ? value.trim() : `${before}, ${value.trim()}`)
  }
  return { fields, newline, rest: text.slice(end + (end === 0 ? 1 : 2) * newline.length) }
}

/** A line that begins with a blank continues the one before (RFC 5322 §2.2.3). */
function unfolded(text: string, newline: string): string[] {
  const fields: string[] = []
  for (const line of text === '' ? [] : text.split(newline)) {
    const isContinued = /^[ \t]/.test(line)
    // Blank alone, it is the end of the headers for some.
    if (isContinued && fields.length > 0 && line.trim() !== '') fields.push(`${fields.pop() ?? ''}${line}`)
    else fields.push(isContinued ? '' : line)
  }
  return fields
}

const mostAddresses = 500
const address = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?$/

export function isPlainAddress(text: string): boolean {
  return address.test(text) && !/^\.|\.[.@]|=\?/.test(text)
}

/** Without display names: anyone can write any name. */
export function readAddresses(value: string): string[] | undefined {
  if (value === '') return []
  const found: string[] = []
  for (const entry of entriesOf(value) ?? [undefined]) {
    const one = entry === undefined ? undefined : readAddress(entry.trim())
    if (one === undefined || found.length === mostAddresses) return undefined
    found.push(one)
  }
  return found
}

/** Stands for a quoted name. No address contains it. */
const quotedName = '"'

/** Separated by commas outside of quoted names. Undefined if a quotation is odd. */
function entriesOf(value: string): string[] | undefined {
  const parts = value.split('"')
  if (parts.length % 2 === 0) return undefined
  const entries = ['']
  for (const [index, part] of parts.entries()) {
    const isName = index % 2 === 1
    if (isName && /[<>\\]|=\?/.test(part)) return undefined
    const [first = '', ...others] = isName ? [quotedName] : part.split(',')
    entries.push(`${entries.pop() ?? ''}${first}`, ...others)
  }
  return entries
}

function readAddress(entry: string): string | undefined {
  if (isPlainAddress(entry)) return entry
  const [, name = '', bare = ''] = /^([^<>]*)<([^<>]*)>$/.exec(entry) ?? []
  // Comments, groups and routes are read in different ways, and so is what an encoded name may contain.
  const shown = decodeWords(name.replaceAll(quotedName, ''))
  if (shown === undefined || /[()<>[\]:;,@\\"]/.test(shown) || /[()[\]:;@\\]/.test(name)) return undefined
  return isPlainAddress(bare) ? bare : undefined
}

const encodedWord = /=\?([\w-]{1,40})\?([bq])\?([!->@-~]{0,1000})\?=/gi

/** Encoded words (RFC 2047) as text. Undefined if one is broken, or in an unusual charset. */
export function decodeWords(value: string): string | undefined {
  let text = ''
  let end = 0
  for (const match of value.matchAll(encodedWord)) {
    const [all, charset = '', encoding = '', content = ''] = match
    const between = value.slice(end, match.index)
    const word = decodeWord(charset.toLowerCase(), encoding.toLowerCase(), content)
    const after = value.charAt(match.index + all.length)
    const isSeparate = (end === match.index ? end === 0 : /\s$/.test(between)) && /^\s?$/.test(after)
    if (word === undefined || !isSeparate) return undefined
    // Blanks between two encoded words don't count (§6.2).
    text += (end > 0 && between.trim() === '' ? '' : between) + word
    end = match.index + all.length
  }
  text += value.slice(end)
  return value.slice(end).includes('=?') || /\r|\n/.test(value) ? undefined : text
}

function decodeWord(charset: string, encoding: string, content: string): string | undefined {
  const bytes = encoding === 'b' ? readBase64(content) : readQ(content)
  return bytes && decodeCharset(bytes, charset)
}

export function readBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

function readQ(text: string): Buffer | undefined {
  if (!/^(?:[!-<>@-~]|=[0-9A-F]{2})*$/i.test(text)) return undefined
  const spaced = text.replaceAll('_', ' ')
  return Buffer.from(
    spaced.replace(/=([0-9A-F]{2})/gi, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  )
}

/** Only charsets in which ASCII is ASCII. */
export function decodeCharset(bytes: Buffer, charset: string): string | undefined {
  try {
    if (charset === 'utf-8' || charset === 'utf8')
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (charset === 'us-ascii') return bytes.every((byte) => byte < 0x80) ? bytes.toString('latin1') : undefined
    return charset === 'iso-8859-1' ? bytes.toString('latin1') : undefined
  } catch {
    return undefined
  }
}
