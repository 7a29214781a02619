/** Builds a call from curl-like options: method, URL, headers and body. */
import type { Repeated } from './command.ts'
import { usageError } from './failures.ts'
import { readInput } from './input-files.ts'
import { encodeForm } from './multipart-form.ts'
import type { Shell } from './shell.ts'
import { inLine } from './terminal-text.ts'

export interface CallInput {
  method: string
  url: string
  headers: Record<string, string>
  body: Buffer | undefined
}

export interface CallWords {
  url: string
  method: string | undefined
  header: string[]
  form: string[]
  'upload-file': string | undefined
  get: boolean
  head: boolean
}

/** `repeated` has -d, --data-raw and --data-binary in the order given. */
export async function readCall(shell: Shell, words: CallWords, repeated: readonly Repeated[]): Promise<CallInput> {
  const data = repeated.filter(({ option }) => /^data(?:-raw|-binary)?$/.test(option))
  refuseSeveralKinds(words, data.length > 0)
  const headers = Object.fromEntries(words.header.map(headerOf))
  const usual = words.head ? 'HEAD' : words.get ? 'GET' : undefined
  const made = (method: string, url: string, body?: Buffer, type?: string): CallInput => {
    const given = (words.method ?? usual ?? method).toUpperCase()
    if (body && ['GET', 'HEAD'].includes(given)) {
      throw usageError(`${given} can't have a body; omit -X, or use -G to put the data into the URL`)
    }
    const hasType = type === undefined || Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
    return { method: given, url, headers: hasType ? headers : { 'content-type': type, ...headers }, body }
  }
  const file = words['upload-file']
  if (file !== undefined) return made('PUT', uploadUrl(words.url, file), await readInput(shell, file, '-T'))
  if (words.form.length > 0) {
    const { body, type } = await encodeForm(shell, words.form)
    return made('POST', words.url, body, type)
  }
  if (data.length === 0) return made('GET', words.url)
  const body = await bodyOf(shell, data)
  if (words.get) return made('GET', withQuery(words.url, body.toString('utf8')))
  return made('POST', words.url, body, typeOf(body))
}

function refuseSeveralKinds(words: CallWords, hasData: boolean): void {
  const kinds = [
    ...(hasData ? [words.get ? '-G' : '-d'] : []),
    ...(words.form.length > 0 ? ['-F'] : []),
    ...(words['upload-file'] === undefined ? [] : ['-T']),
    ...(words.head && !(hasData && words.get) ? ['-I'] : []),
  ]
  if (kinds.length > 1) throw usageError(`${kinds.join(' and ')} can't be combined; use only one of them`)
  if (words.head && words.method !== undefined) throw usageError('-I makes a HEAD request; omit -X')
}

function headerOf(text: string): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) {
    throw usageError(`-H: got "${inLine(text)}"; expected "Name: value"`)
  }
  return [name, value.replace(/^[ \t]+/, '')]
}

/** Several values are joined with &, in the order given. Files are sent unchanged. */
async function bodyOf(shell: Shell, data: readonly Repeated[]): Promise<Buffer> {
  const parts: Buffer[] = []
  for (const { option, value } of data) {
    if (parts.length > 0) parts.push(Buffer.from('&'))
    if (option === 'data-raw') parts.push(Buffer.from(value))
    else if (value === '@-' || (option === 'data' && value === '-')) parts.push(await shell.stdin())
    else parts.push(value.startsWith('@') ? await readInput(shell, value.slice(1), `--${option}`) : Buffer.from(value))
  }
  return Buffer.concat(parts)
}

/** JSON is sent as JSON, anything else as a form, as curl does. */
function typeOf(body: Buffer): string {
  try {
    JSON.parse(body.toString('utf8'))
    return 'application/json'
  } catch {
    return 'application/x-www-form-urlencoded'
  }
}

/** Appends to an existing query, before the fragment. */
function withQuery(url: string, query: string): string {
  const [, place = '', fragment = ''] = /^([^#]*)(.*)/s.exec(url) ?? []
  const glue = !place.includes('?') ? '?' : /[?&]$/.test(place) ? '' : '&'
  return `${place}${glue}${query}${fragment}`
}

/** A URL that ends with a slash gets the file's name. */
function uploadUrl(url: string, file: string): string {
  const [, place = '', rest = ''] = /^([^?#]*)(.*)/s.exec(url) ?? []
  const isFolder = place.endsWith('/') || /^[a-z]+:\/\/[^/]*$/i.test(place)
  if (!isFolder || file === '-') return url
  return `${place.replace(/\/$/, '')}/${encodeURIComponent(file.split('/').at(-1) ?? file)}${rest}`
}
