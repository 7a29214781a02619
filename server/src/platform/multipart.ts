/**
 * Multipart bodies (RFC 2046, RFC 7578), read only if they are written so plainly that all parsers find the same parts:
 * the boundary is nowhere but in its lines, no header is folded, encoded or given twice, and parts are not nested.
 */

export interface Part {
  /** By name, in lower case. */
  headers: ReadonlyMap<string, string>
  /** Of a form's field. */
  name: string | undefined
  content: string
}

/** Undefined if parsers could differ. */
export function readMultipart(text: string, boundary: string): Part[] | undefined {
  const line = `--${boundary}`
  if (!text.startsWith(line)) return undefined
  const pieces = text.slice(line.length).split(line)
  const last = pieces.pop()
  if (last === undefined || !/^--\s*$/.test(last.slice(0, 100)) || last.length > 100) return undefined
  const newline = pieces[0]?.startsWith('\r\n') ? '\r\n' : '\n'
  const parts = pieces.map((piece) =>
    piece.startsWith(newline) && piece.endsWith(newline) && piece.length >= 2 * newline.length
      ? readPart(piece.slice(newline.length, -newline.length), newline)
      : undefined,
  )
  return parts.every((part) => part !== undefined) ? parts : undefined
}

function readPart(text: string, newline: string): Part | undefined {
  const read = readHeaders(text, newline)
  if (!read) return undefined
  const { headers, rest } = read
  const isEncoded = !/^(?:|7bit|8bit|binary)$/i.test(headers.get('content-transfer-encoding') ?? '')
  if (isEncoded || /^multipart\//i.test(headers.get('content-type') ?? '')) return undefined
  const disposition = headers.get('content-disposition')
  if (disposition === undefined) return { headers, name: undefined, content: rest }
  const [, kind = '', written = ''] = /^([\w-]+)[ \t]*(;.*)?$/.exec(disposition) ?? []
  const parameters = readParameters(written)
  if (kind === '' || !parameters) return undefined
  const names = parameters.filter(([name]) => /^name(?:$|\*)/.test(name))
  if (names.length > 1 || names.some(([name]) => name !== 'name')) return undefined
  return { headers, name: names[0]?.[1], content: rest }
}

/** Header fields up to an empty line, and what follows it. Undefined if parsers could differ. */
export function readHeaders(
  text: string,
  newline: string,
): { headers: ReadonlyMap<string, string>; rest: string } | undefined {
  const hasNone = text.startsWith(newline)
  const end = hasNone ? 0 : text.indexOf(newline + newline)
  if (end === -1) return undefined
  const headers = new Map<string, string>()
  for (const line of hasNone ? [] : text.slice(0, end).split(newline)) {
    const [, name, value] = /^([\w-]{1,100}):([^\r\n\0]{0,8192})$/.exec(line) ?? []
    if (name === undefined || value === undefined || headers.has(name.toLowerCase())) return undefined
    headers.set(name.toLowerCase(), value.trim())
  }
  return { headers, rest: text.slice(end + (hasNone ? 1 : 2) * newline.length) }
}

/**
 * Parameters of a header value, from its first semicolon, with names in lower case. Undefined if parsers could differ: PHP
 * takes apostrophes for quotation marks, and skips equals signs before a value.
 */
export function readParameters(text: string): [name: string, value: string][] | undefined {
  const found: [string, string][] = []
  let end = 0
  for (const match of text.matchAll(parameter)) {
    if (match.index !== end) return undefined
    const [all, name, quoted, plain = ''] = match
    // As in `name*=utf-8''value` (RFC 8187).
    if (plain.includes("'") && name?.endsWith('*') !== true) return undefined
    if (name !== undefined) found.push([name.toLowerCase(), quoted ?? plain])
    end += all.length
  }
  return end === text.length ? found : undefined
}

const parameter = /;[ \t]*(?:([\w!#$&^.+*-]+)=(?:"([^"\\]*)"|(?!=)((?:[\w-]*'[\w-]*')?[^\s;",\\']*))[ \t]*)?/g
