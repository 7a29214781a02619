/**
 * Finds names of parameters in a text, however they are spelled or escaped. The time is linear in the text. No pattern
 * here repeats a group: V8 pushes a backtracking state for each repetition and runs out of stack within a few MiB.
 */

/** Percent and JSON escapes, and those of ASP: `%u005f`. */
const escape = String.raw`(?:[\\%]u00|%)`
/** PHP turns spaces, dots and an open bracket into an underscore. */
const underscore = String.raw`(?:[_\s.+[-]|${escape}(?:5f|20|0[9a-d]|a0|2e|5b|2d))`
/** PHP cuts a name at a NUL. Many frameworks read `name[]` as `name`. */
const cut = String.raw`[[\0]|${escape}(?:00|5b)`

export interface FoundName {
  /** As it is spelled in the text. */
  written: string
  from: number
  to: number
}

/** Finds the names that begin between `from` and `to`. */
type NameSearch = (text: string, from: number, to: number) => Iterable<FoundName>

/** No name is longer, however it is spelled. */
export const longestSpelling = 200

function spellingOf(character: string): string {
  if (character === '_') return underscore
  const codes = [character, character.toUpperCase()].map((one) => one.charCodeAt(0).toString(16))
  return `(?:[${character}]|${escape}(?:${codes.join('|')}))`
}

/** A pattern like a trie: names with a common start share it. No name may be the start of another. */
function spellingsOf(names: readonly string[]): string {
  const firsts = [...new Set(names.map((name) => name.charAt(0)))].filter((first) => first !== '')
  const each = firsts.map((first) => {
    const rests = names.filter((name) => name.startsWith(first)).map((name) => name.slice(1))
    return spellingOf(first) + spellingsOf(rests)
  })
  return each.length > 1 ? `(?:${each.join('|')})` : each.join('')
}

/** If one name is the start of another, both are tried at the same place. */
export function searchFor(names: readonly string[]): NameSearch {
  const isLonger = (name: string) => names.some((other) => other !== name && name.startsWith(other))
  const pattern = new RegExp(spellingsOf(names.filter((name) => !isLonger(name))), 'gi')
  const longer = names.filter(isLonger).map((name) => new RegExp(spellingsOf([name]), 'iy'))
  return function* (text, start, end) {
    const part = text.slice(start, end + longestSpelling)
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

/** If it is the name of a pair, as in `a=1&name=2`: where the blanks after it end. */
export function endOfPairName(text: string, { from, to }: FoundName): number | undefined {
  const start = blanksBefore(text, from)
  if (start > 0 && text[start - 1] !== '&' && text[start - 1] !== ';') return undefined
  const end = blanksAfter(text, to)
  return matchesAt(pairEnd, text, end) ? end : undefined
}

const pairEnd = new RegExp(`[=&;]|${cut}|$`, 'iy')

/** Whether it is the name of a part, in the part's header (RFC 7578): `form-data; name="name"`. */
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

/** Where the charset and language that end at `at` begin. `at` if there are none. */
function charsetBefore(text: string, at: number): number {
  const language = text[at - 1] === "'" ? wordBefore(text, at - 1) : at
  return language < at && text[language - 1] === "'" ? wordBefore(text, language - 1) : at
}

const maxWordLength = 40

function wordBefore(text: string, at: number): number {
  let start = at
  while (start > at - maxWordLength && has(wordCharacters, text, start - 1)) start--
  return start
}

/** Whether `name =` or `name*=` is before it. */
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

/** If it is the name of a JSON member with a string as its value: where its closing quote ends. */
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

/** By character code. A body is read as Latin-1, and in a URL everything else is escaped. */
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

/** Where the blanks that end at `at` begin, plain or escaped. */
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
