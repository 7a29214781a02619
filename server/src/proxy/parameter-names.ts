/**
 * Where a text names one of some parameters, in whichever writing. The time is linear in the text, and no pattern here
 * repeats a group: V8 keeps a place to go back to for each round, and runs out of room within a few MiB of blanks.
 */

/** Also as ASP writes them: `%u005f`. */
const escape = String.raw`(?:[\\%]u00|%)`
/** PHP makes blanks, dots and an open bracket an underscore. */
const underscore = String.raw`(?:[_\s.+[-]|${escape}(?:5f|20|0[9a-d]|a0|2e|5b|2d))`
/** PHP cuts a name at a NUL; `name[]` is `name` to many. */
const cut = String.raw`[[\0]|${escape}(?:00|5b)`

export interface FoundName {
  /** As it is written. */
  written: string
  from: number
  to: number
}

/** Those that begin between two places. */
export type NameSearch = (text: string, from: number, to: number) => Iterable<FoundName>

/** No name is longer, however it is written. */
export const longestWriting = 200

function writingOf(character: string): string {
  if (character === '_') return underscore
  const codes = [character, character.toUpperCase()].map((one) => one.charCodeAt(0).toString(16))
  return `(?:[${character}]|${escape}(?:${codes.join('|')}))`
}

/** Each character is looked at once, whichever names begin with it. None may be the start of another. */
function writingsOf(names: readonly string[]): string {
  const firsts = [...new Set(names.map((name) => name.charAt(0)))].filter((first) => first !== '')
  const each = firsts.map((first) => {
    const rests = names.filter((name) => name.startsWith(first)).map((name) => name.slice(1))
    return writingOf(first) + writingsOf(rests)
  })
  return each.length > 1 ? `(?:${each.join('|')})` : each.join('')
}

/** Of two names of which one is the start of the other, both are tried where the longer one stands. */
export function searchFor(names: readonly string[]): NameSearch {
  const isLonger = (name: string) => names.some((other) => other !== name && name.startsWith(other))
  const pattern = new RegExp(writingsOf(names.filter((name) => !isLonger(name))), 'gi')
  const longer = names.filter(isLonger).map((name) => new RegExp(writingsOf([name]), 'iy'))
  return function* (text, start, end) {
    const part = text.slice(start, end + longestWriting)
    for (let to = 0; ;) {
      pattern.lastIndex = to
      const found = pattern.exec(part)
      if (!found || start + found.index >= end) return
      const { index } = found
      to = index + found[0].length
      yield { written: found[0], from: start + index, to: start + to }
      for (const other of longer) {
        other.lastIndex = index
        const [written] = other.exec(part) ?? []
        if (written !== undefined) yield { written, from: start + index, to: start + index + written.length }
      }
    }
  }
}

/** Whether it names one of pairs, `a=1&name=2`. Where so, where the blanks behind it end. */
export function endOfPairName(text: string, { from, to }: FoundName): number | undefined {
  const start = blanksBefore(text, from)
  if (start > 0 && text[start - 1] !== '&' && text[start - 1] !== ';') return undefined
  const end = blanksAfter(text, to)
  return matchesAt(pairEnd, text, end) ? end : undefined
}

const pairEnd = new RegExp(`[=&;]|${cut}|$`, 'iy')

/** Whether it names a part, in the part's header (RFC 7578): `form-data; name="name"`. */
export function isPartName(text: string, { from, to }: FoundName): boolean {
  return isPartStart(text, blanksBefore(text, from)) && isPartEnd(text, to)
}

/** PHP takes both kinds of quotes. RFC 8187 puts a charset and a language before the value: `utf-8'en'value`. */
function isPartStart(text: string, at: number): boolean {
  if (isValueOfName(text, at)) return true
  const last = text[at - 1]
  if (last !== '"' && last !== "'") return false
  return (
    isValueOfName(text, at - 1) ||
    isValueOfName(text, charsetBefore(text, at)) ||
    isValueOfName(text, charsetBefore(text, at - 1))
  )
}

/** Where a charset and a language begin that end at `at`; `at` where there are none. */
function charsetBefore(text: string, at: number): number {
  const language = text[at - 1] === "'" ? wordBefore(text, at - 1) : at
  return language < at && text[language - 1] === "'" ? wordBefore(text, language - 1) : at
}

const longestWord = 40

function wordBefore(text: string, at: number): number {
  let start = at
  while (start > at - longestWord && has(wordCharacters, text, start - 1)) start--
  return start
}

/** Behind `name =` or `name*=`. */
function isValueOfName(text: string, at: number): boolean {
  const equals = spacesBefore(text, at) - 1
  if (text[equals] !== '=') return false
  const end = spacesBefore(text, equals)
  const name = text.slice(Math.max(0, end - 6), end)
  return /[;\s]name\*?$/i.test(name)
}

const partEnd = new RegExp(`["'\\s;]|${cut}|$`, 'iy')

function isPartEnd(text: string, at: number): boolean {
  const end = blanksAfter(text, at)
  return matchesAt(partEnd, text, at) || matchesAt(partEnd, text, end) || /\s/.test(text.slice(at, end))
}

/** Whether it names a member of an object with a text as its value. Where so, where its closing quote ends. */
export function endOfMemberName(text: string, { from, to }: FoundName): number | undefined {
  if (text[from - 1] !== '"') return undefined
  memberEnd.lastIndex = to
  const [end] = memberEnd.exec(text) ?? []
  return end === undefined ? undefined : to + end.length
}

const memberEnd = new RegExp(String.raw`(?:(?:${cut})[^"]{0,100})?"(?=\s*:\s*")`, 'iy')

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}

/** By code. A body is read as Latin-1, and in a URL everything else is escaped. */
const blanks = codesOf(/[\s+]/)
const spaces = codesOf(/\s/)
const wordCharacters = codesOf(/[\w-]/)

function codesOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (pattern.test(String.fromCharCode(code)) ? 1 : 0))
}

function has(codes: Uint8Array, text: string, at: number): boolean {
  return at >= 0 && at < text.length && codes[text.charCodeAt(at)] === 1
}

const blankEscape = new RegExp(`${escape}(?:20|0[9a-d]|a0)`, 'iy')

/** Where the blanks begin that end at `at`, plain or escaped. */
function blanksBefore(text: string, at: number): number {
  for (let start = at; ;) {
    if (has(blanks, text, start - 1)) start--
    else if (isBlankEscape(text, start - 3, 3)) start -= 3
    else if (isBlankEscape(text, start - 6, 6)) start -= 6
    else return start
  }
}

function blanksAfter(text: string, at: number): number {
  for (let end = at; ;) {
    if (has(blanks, text, end)) end++
    else if (isBlankEscape(text, end, 3)) end += 3
    else if (isBlankEscape(text, end, 6)) end += 6
    else return end
  }
}

function isBlankEscape(text: string, at: number, length: number): boolean {
  const first = at < 0 ? undefined : text[at]
  if (first !== '%' && first !== '\\') return false
  blankEscape.lastIndex = at
  return blankEscape.exec(text)?.[0].length === length
}

function spacesBefore(text: string, at: number): number {
  let start = at
  while (has(spaces, text, start - 1)) start--
  return start
}
