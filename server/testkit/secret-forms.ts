/** Every form in which an upstream may return a secret, without any of the redactor's code. */

export interface SecretForm {
  name: string
  encode: (secret: string) => Buffer
  /** False if it has bytes that a header value cannot contain. */
  fitsHeader: boolean
}

/** The encodings of one ASCII character. */
export const spellings: { name: string; spell: (character: string) => string }[] = [
  { name: 'plain', spell: (character) => character },
  { name: 'percent, lower case', spell: (character) => `%${hexOf(character, 2)}` },
  { name: 'percent, upper case', spell: (character) => `%${hexOf(character, 2).toUpperCase()}` },
  { name: 'percent, twice', spell: (character) => `%25${hexOf(character, 2)}` },
  { name: 'percent, of its own digits', spell: (character) => percentAll(`%${hexOf(character, 2)}`) },
  { name: 'JSON \\u', spell: (character) => `\\u${hexOf(character, 4)}` },
  { name: 'JSON \\u, upper case', spell: (character) => `\\u${hexOf(character, 4).toUpperCase()}` },
  { name: 'JSON \\u in JSON', spell: (character) => `\\\\u${hexOf(character, 4)}` },
  { name: 'JSON \\u in JSON in JSON', spell: (character) => `\\\\\\\\u${hexOf(character, 4)}` },
  { name: 'JSON \\u in a URL', spell: (character) => `%5Cu${hexOf(character, 4)}` },
  { name: '\\x', spell: (character) => `\\x${hexOf(character, 2)}` },
  { name: 'octal', spell: (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}` },
  { name: 'entity, decimal', spell: (character) => `&#${String(character.charCodeAt(0))};` },
  { name: 'entity, padded', spell: (character) => `&#${String(character.charCodeAt(0)).padStart(5, '0')};` },
  { name: 'entity, hex', spell: (character) => `&#x${hexOf(character, 2)};` },
  { name: 'entity, hex, upper case', spell: (character) => `&#X${hexOf(character, 2).toUpperCase()};` },
  { name: 'entity in a page in a page', spell: (character) => `&amp;#${String(character.charCodeAt(0))};` },
  { name: 'entity in JSON', spell: (character) => `\\u0026#${String(character.charCodeAt(0))};` },
  { name: 'quoted-printable', spell: (character) => `=${hexOf(character, 2).toUpperCase()}` },
  { name: 'quoted-printable of percent', spell: (character) => `=25${hexOf(character, 2)}` },
]

/** Each character in the encoding that `pick` returns. Escape characters are always escaped. */
export function spelled(secret: string, pick: (index: number) => number): string {
  const ways = Array.from(secret).map((_, index) => pick(index) % spellings.length)
  const other = Math.max(...ways)
  return Array.from(secret)
    .map((character, index) => {
      const way = ways[index] === 0 && /[%&=\\]/.test(character) ? other : ways[index]
      return spellings[way ?? 0]?.spell(character) ?? character
    })
    .join('')
}

const inEachSpelling: SecretForm[] = spellings.flatMap(({ name }, way) => [
  textForm(name, (secret) => spelled(secret, () => way)),
  textForm(`${name}, every other character`, (secret) => spelled(secret, (index) => (index % 2) * way)),
  textForm(`${name}, the last character`, (secret) =>
    spelled(secret, (index) => (index + 1 < secret.length ? 0 : way)),
  ),
])

export const secretForms: SecretForm[] = [
  ...inEachSpelling,
  textForm('all spellings in turn', (secret) => spelled(secret, (index) => index)),
  textForm('percent, as encodeURIComponent', encodeURIComponent),
  textForm('JSON', (secret) => JSON.stringify(secret).slice(1, -1)),
  textForm('JSON in JSON', (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3)),
  textForm('JSON with escaped slashes', (secret) => JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/')),
  textForm('entities, named', (secret) =>
    secret.replace(/[&<>"'.+=/_-]/g, (character) => named[character] ?? character),
  ),
  textForm('escaped punctuation', (secret) => secret.replace(/[^A-Za-z0-9]/g, '\\$&')),
  ...['soft breaks of \\n', 'soft breaks of \\r\\n', 'soft breaks and =XX'].map((name, index) => ({
    name: `quoted-printable, ${name}`,
    fitsHeader: false,
    encode: (secret: string) =>
      Buffer.from(
        (index === 2 ? secret.replace(/[^A-Za-z0-9]/g, (one) => `=${hexOf(one, 2).toUpperCase()}`) : secret).replace(
          /.{7}(?<!=.?)/g,
          index === 0 ? '$&=\n' : '$&=\r\n',
        ),
      ),
  })),
  textForm('hex', (secret) => Buffer.from(secret).toString('hex')),
  textForm('hex, upper case', (secret) => Buffer.from(secret).toString('hex').toUpperCase()),
  textForm('hex, mixed case', (secret) =>
    Buffer.from(secret)
      .toString('hex')
      .replace(/[a-f](?=.(.{2})*$)/g, (digit) => digit.toUpperCase()),
  ),
  ...[' ', ':', '-', ', '].map((separator) =>
    textForm(`hex, between ${JSON.stringify(separator)}`, (secret) => hexList(secret, separator)),
  ),
  textForm('hex, as a list of 0x', (secret) => hexList(secret, ', 0x', '0x').toUpperCase().replaceAll('X', 'x')),
  textForm('hex, percent-encoded', (secret) => percentAll(Buffer.from(secret).toString('hex'))),
  ...['', 'B', 'Bearer ', 'user:', 'a client:', 'Authorization: Bearer '].flatMap((before) => [
    base64Form(before, 'base64', (text) => text),
    base64Form(before, 'base64', (text) => text.replaceAll('=', ''), 'without padding'),
    base64Form(before, 'base64url', (text) => text),
    base64Form(before, 'base64', encodeURIComponent, 'percent-encoded'),
    base64Form(before, 'base64', percentAll, 'percent-encoded throughout'),
    base64Form(before, 'base64', (text) => text.replaceAll('/', '\\/'), 'with escaped slashes'),
    base64Form(before, 'base64', (text) => text.replace(/[+/=]/g, (one) => `\\u${hexOf(one, 4)}`), 'with \\u'),
    base64Form(before, 'base64', (text) => text.replace(/[+/=]/g, (one) => `=${hexOf(one, 2)}`), 'with =XX'),
    base64Form(before, 'base64', (text) => text.replace(/.{76}/g, '$&\\r\\n'), 'lines of 76, as JSON'),
    base64Form(before, 'base64', (text) => text.replace(/.{4}/g, '$&\\n'), 'lines of 4, as JSON'),
    { ...base64Form(before, 'base64', (text) => text.replace(/.{76}/g, '$&\r\n'), 'lines of 76'), fitsHeader: false },
    { ...base64Form(before, 'base64', (text) => text.replace(/.{16}/g, '$&\n'), 'lines of 16'), fitsHeader: false },
    base64Form(before, 'base64', (text) => Buffer.from(`x ${text}`).toString('base64'), 'in base64'),
    base64Form(before, 'base64url', (text) => Buffer.from(`xyz${text}`).toString('base64url'), 'in base64url'),
  ]),
  textForm('base64 of UTF-16', (secret) => Buffer.from(secret, 'utf16le').toString('base64')),
  textForm('decimal bytes', (secret) => `[${Buffer.from(secret).join(',')}]`),
  textForm('decimal bytes, with blanks', (secret) => `[ ${Buffer.from(secret).join(' , ')} ]`),
  textForm('decimal bytes, between blanks alone', (secret) => `[${Buffer.from(secret).join(' ')}]`),
  bytesForm('decimal bytes, one on a line', (secret) =>
    Buffer.from(`[\n${' '.repeat(8)}${Buffer.from(secret).join(`,\n${' '.repeat(8)}`)}\n]`),
  ),
  bytesForm('UTF-16LE', (secret) => Buffer.from(secret, 'utf16le')),
  bytesForm('UTF-16LE with its mark', (secret) => Buffer.from(`\uFEFF${secret}`, 'utf16le')),
  bytesForm('UTF-16BE', (secret) => Buffer.from(secret, 'utf16le').swap16()),
  bytesForm('UTF-16BE with its mark', (secret) => Buffer.from(`\uFEFF${secret}`, 'utf16le').swap16()),
  bytesForm('UTF-16LE of JSON \\u', (secret) =>
    Buffer.from(
      spelled(secret, () => 5),
      'utf16le',
    ),
  ),
  bytesForm('UTF-32LE', (secret) => inUtf32(secret, 0)),
  bytesForm('UTF-32BE', (secret) => inUtf32(secret, 3)),
  bytesForm('UTF-16LE of base64', (secret) => Buffer.from(Buffer.from(secret).toString('base64'), 'utf16le')),
]

const shortestLeft = 24

/**
 * A part of the encoded secret that the output still contains. Ignores what another secret with the
 * same start and end would leave too.
 */
export function leftOf(output: Buffer, form: SecretForm, secret: string): string | undefined {
  const encoded = form.encode(secret)
  const ofAnother = form.encode(secret.replace(/(?<=.).(?=.)/g, (character) => (character === 'q' ? 'w' : 'q')))
  const length = Math.min(shortestLeft, encoded.length)
  // Every piece contains one of these blocks, and most outputs contain none.
  const block = Math.ceil(length / 2)
  let hasBlock = false
  for (let from = 0; from + block <= encoded.length && !hasBlock; from += block) {
    hasBlock = output.includes(encoded.subarray(from, from + block))
  }
  if (!hasBlock) return undefined
  for (let from = 0; from + length <= encoded.length; from++) {
    const piece = encoded.subarray(from, from + length)
    if (output.includes(piece) && !ofAnother.includes(piece)) return piece.toString('latin1')
  }
  return undefined
}

const named: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '.': '&period;',
  '+': '&plus;',
  '=': '&equals;',
  '/': '&sol;',
  _: '&lowbar;',
  '-': '&#45;',
}

function textForm(name: string, encode: (secret: string) => string): SecretForm {
  return { name, fitsHeader: true, encode: (secret) => Buffer.from(encode(secret), 'utf8') }
}

function bytesForm(name: string, encode: (secret: string) => Buffer): SecretForm {
  return { name, fitsHeader: false, encode }
}

function base64Form(
  before: string,
  alphabet: 'base64' | 'base64url',
  then: (text: string) => string,
  detail = '',
): SecretForm {
  const name = [alphabet, before && `after "${before}"`, detail].filter(Boolean).join(', ')
  return textForm(name, (secret) => then(Buffer.from(`${before}${secret}`).toString(alphabet)))
}

function hexOf(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, '0')
}

function hexList(secret: string, separator: string, before = ''): string {
  const values = Array.from(Buffer.from(secret), (byte) => byte.toString(16).padStart(2, '0'))
  return before + values.join(separator)
}

function percentAll(text: string): string {
  return text.replace(/./g, (character) => `%${hexOf(character, 2)}`)
}

function inUtf32(secret: string, at: number): Buffer {
  const bytes = Buffer.alloc(secret.length * 4)
  Buffer.from(secret, 'latin1').forEach((byte, index) => (bytes[index * 4 + at] = byte))
  return bytes
}
