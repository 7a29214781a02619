/** Encodes a multipart form like curl's `-F` (RFC 7578). */
import { randomBytes } from 'node:crypto'
import { usageError } from './failures.ts'
import { readInput } from './input-files.ts'
import type { Shell } from './shell.ts'
import { inLine } from './terminal-text.ts'

export interface EncodedForm {
  type: string
  body: Buffer
}

interface Part {
  name: string
  fileName: string | undefined
  type: string | undefined
  content: Buffer
}

export async function encodeForm(shell: Shell, fields: readonly string[]): Promise<EncodedForm> {
  const boundary = `------------------------${randomBytes(16).toString('hex')}`
  const chunks: Buffer[] = []
  for (const field of fields) {
    const { name, fileName, type, content } = await partOf(shell, field)
    const file = fileName === undefined ? '' : `; filename="${escaped(fileName)}"`
    const lines = [
      `--${boundary}`,
      `Content-Disposition: form-data; name="${escaped(name)}"${file}`,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
      '',
      '',
    ]
    chunks.push(Buffer.from(lines.join('\r\n')), content, Buffer.from('\r\n'))
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`))
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(chunks) }
}

async function partOf(shell: Shell, field: string): Promise<Part> {
  const at = field.indexOf('=')
  if (at === -1) throw usageError(`-F: got "${inLine(field)}"; expected NAME=CONTENT, NAME=@FILE or NAME=<FILE`)
  const name = field.slice(0, at)
  const [, mark = '', rest = ''] = /^([@<]?)(.*)$/s.exec(field.slice(at + 1)) ?? []
  const { value, type, fileName } = parameters(rest)
  if (mark === '') return { name, fileName, type, content: Buffer.from(value) }
  if (/[,;]/.test(value) && !rest.startsWith('"')) {
    throw usageError(`-F: one file per field; quote a file name that contains a comma or semicolon: ${mark}"…"`)
  }
  const content = await readInput(shell, value, '-F')
  if (mark === '<') return { name, fileName, type, content }
  const own = value.split('/').at(-1) ?? value
  return { name, fileName: fileName ?? own, type: type ?? (own === '-' ? undefined : typeOf(own)), content }
}

/**
 * Splits a value from its `;type=` and `;filename=`. A quoted value may contain semicolons, and `\` escapes a quote.
 */
function parameters(text: string): { value: string; type: string | undefined; fileName: string | undefined } {
  const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(text)
  const end = quoted ? quoted[0].length : parametersStart(text)
  const value = quoted ? unescaped(quoted[1] ?? '') : text.slice(0, end)
  let [type, fileName, rest]: [string | undefined, string | undefined, string] = [undefined, undefined, text.slice(end)]
  while (rest !== '') {
    const [whole, key = '', inQuotes, plain = ''] =
      /^;\s*(type|filename)=(?:"((?:[^"\\]|\\.)*)"|([^;"]*(?:;(?!\s*(?:type|filename)=)[^;"=]+=[^;"]*)*))/.exec(rest) ??
      []
    if (whole === undefined)
      throw usageError(`-F: "${inLine(rest)}" is not recognized; only ;type= and ;filename= are supported`)
    const given = inQuotes === undefined ? plain.trim() : unescaped(inQuotes)
    if (/[\r\n\0]/.test(given)) throw usageError(`-F: ${key} contains a line break`)
    if (key === 'type') type = given
    else fileName = given
    rest = rest.slice(whole.length)
  }
  return { value, type, fileName }
}

function parametersStart(text: string): number {
  const at = text.search(/;\s*(?:type|filename|headers|encoder)=/)
  return at === -1 ? text.length : at
}

function unescaped(text: string): string {
  return text.replace(/\\(["\\])/g, '$1')
}

/** Escapes like browsers (HTML §4.10.21.8). */
function escaped(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

/** Content types that curl knows by file extension. */
const types: Record<string, string> = {
  gif: 'image/gif',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  xml: 'application/xml',
}

function typeOf(fileName: string): string {
  const ending = fileName.split('.').at(-1)?.toLowerCase() ?? ''
  return (Object.hasOwn(types, ending) ? types[ending] : undefined) ?? 'application/octet-stream'
}
