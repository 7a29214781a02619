/** The ways in which a server might interpret a path. An ordinary path has only one. */

export interface PathReading {
  /** In lower case, without escapes and parameters. */
  segments: readonly string[]
  /** Whether the slash before a segment was escaped: some servers read it as a slash, others as part of a name. */
  isJoined: readonly boolean[] | undefined
  /** Whether a segment contains a dot, and so may end in a format such as `.json`. */
  hasDots: boolean
}

const ordinary = /^(?:\/[\w~$:@,=!'()*+-][\w~$:@,=!'()*+.-]*)*\/?$/

/** Whether all servers interpret the path alike. `{credential}` is a placeholder of ours. */
export function readsOneWay(path: string): boolean {
  return ordinary.test(path.replace('/%7Bcredential%7D/', '/credential/'))
}

export function readingsOf(path: string): PathReading[] {
  if (!ordinary.test(path)) return oddReadings(path)
  const segments = path.toLowerCase().slice(1).split('/')
  if (segments.at(-1) === '') segments.pop()
  return [{ segments, isJoined: undefined, hasDots: path.includes('.') }]
}

interface Segment {
  text: string
  isJoined: boolean
}

function oddReadings(path: string): PathReading[] {
  const [bare = ''] = path.split(/[?#]/)
  const found: Segment[] = []
  for (const written of bare.split(/[/\\]/)) {
    unescaped(written)
      .split(/[/\\]/)
      .forEach((part, at) => {
        const text = withoutParameters(part)
        if (text !== '') found.push({ text, isJoined: at > 0 })
      })
  }
  // Some servers match routes before they resolve dot segments.
  const hasFolders = found.some(({ text }) => text === '.' || text === '..')
  return (hasFolders ? [found, withoutDots(found)] : [found]).map((segments) => ({
    segments: segments.map(({ text }) => text),
    hasDots: segments.some(({ text }) => text.includes('.')),
    isJoined: segments.some(({ isJoined }) => isJoined) ? segments.map(({ isJoined }) => isJoined) : undefined,
  }))
}

const fromHex = (hex: string) => String.fromCharCode(parseInt(hex, 16))

/**
 * Decodes nested escapes too (`%2563` is `%63` is `c`): a proxy in front of the server may decode one layer. Then reads
 * the bytes as UTF-8, including overlong sequences, and folds compatibility characters into ASCII.
 */
function unescaped(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text
  const undo = (one: string) => one.replace(/%(?:25)*([0-9a-f]{2})/gi, (_whole, hex: string) => fromHex(hex))
  const bytes = undo(undo(undo(Buffer.from(text).toString('latin1'))))
    .replace(/%u00([0-9a-f]{2})/gi, (_whole, hex: string) => fromHex(hex))
    .replace(/[\xc0\xc1][\x80-\xbf]/g, (two) => lastBits(two))
    .replace(/\xe0[\x80\x81][\x80-\xbf]/g, (three) => lastBits(three))
  return Buffer.from(bytes, 'latin1').toString().normalize('NFKC')
}

/** The character that an overlong sequence encodes: the low bits of its last two bytes. */
function lastBits(written: string): string {
  const [high, low] = [written.charCodeAt(written.length - 2), written.charCodeAt(written.length - 1)]
  return String.fromCharCode(((high & 0x01) << 6) | (low & 0x3f))
}

/**
 * Some servers read `keys;v=1` as `keys`; others stop at an escaped `?` or `#`, or drop blanks and control characters.
 */
function withoutParameters(segment: string): string {
  const [name = ''] = segment.split(/[;?#]/)
  return name.replace(/[\p{Cc}\s]+/gu, '').toLowerCase()
}

function withoutDots(segments: Segment[]): Segment[] {
  const kept: Segment[] = []
  for (const segment of segments) {
    if (segment.text === '..') kept.pop()
    else if (segment.text !== '.') kept.push(segment)
  }
  return kept
}
