/**
 * Text of an agent as a person may see it: nothing in it reorders, hides or imitates the text around it. What could is
 * written as an escape such as `\u202e`.
 */
import { redacted } from '../../platform/secret.ts'

/**
 * Characters that are invisible, reorder or delete others, or are drawn over their neighbours. `Mn` and `Mc` (accents,
 * vowel signs) are needed by many languages; too many in a row are not.
 */
const misleading =
  /[\u0334-\u0338\u20d0-\u20ff\p{C}\p{Z}\p{Me}\p{Default_Ignorable_Code_Point}\u115f\u1160\u2800\u3164\uffa0]/u
const mark = /[\p{Mn}\p{Mc}]/u
const mostMarks = 3

/** Drawn like a quotation mark, which ends a quotation in our sentences. */
const doubleQuote =
  /["\u02ba\u02dd\u02ee\u02f6\u05f4\u1cd3\u201c-\u201f\u2033\u2034\u2036\u2037\u2057\u275d\u275e\u2760\u2e42\u3003\u301d-\u301f\uff02\u{1f676}-\u{1f678}]/u
/** Two of them look like one of those. */
const singleQuote =
  /['`\u00b4\u02b9-\u02bf\u02c8\u02ca\u02cb\u02f4\u0374\u0384\u055a\u055d\u05f3\u1fbd\u1fbf\u1fef\u1ffd\u1ffe\u2018-\u201b\u2032\u2035\u275b\u275c\u275f\ua78c\uff07\uff40]/u

interface Rules {
  /** Characters that stand for themselves though they would be escaped. */
  keeps?: string
  /** Escapes quotation marks and backslashes, so that a quotation has one end and one meaning. */
  isQuoted?: boolean
  /** Escapes everything but ASCII: for names of machines, where a look-alike letter is another name. */
  isAscii?: boolean
}

/** The text's characters, each as it is shown. */
export function* visibleCharacters(text: string, rules: Rules = {}): Generator<string> {
  const { keeps = '', isQuoted = false, isAscii = false } = rules
  let marks = mostMarks
  let before = ''
  for (const character of text) {
    const isMark = mark.test(character)
    marks = isMark ? marks + 1 : 0
    // A mark at the start would change our own character before it.
    const isTooMany = isMark && marks > mostMarks
    const isPair = singleQuote.test(character) && singleQuote.test(before)
    before = character
    if (character === ' ' || keeps.includes(character)) yield character
    else if (isQuoted && (character === '"' || character === '\\')) yield `\\${character}`
    else if (isTooMany || misleading.test(character) || (isAscii && character > '~')) yield escaped(character)
    else if (isQuoted && (isPair || doubleQuote.test(character))) yield escaped(character)
    else yield character
  }
}

const short = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return (
    short.get(character) ?? (code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`)
  )
}

/** The first characters, and whether there were more. No escape is cut in two. */
export function cutTo(characters: Iterable<string>, length: number): { text: string; isCut: boolean } {
  let text = ''
  for (const character of characters) {
    if (text.length + character.length > length) return { text, isCut: true }
    text += character
  }
  return { text, isCut: false }
}

/** Words of the agent within a sentence of ours: “Invoice 42”. What is left out is marked outside the quotation. */
export function quoted(text: string, length = 80): string {
  return inQuotes(cutTo(visibleCharacters(withoutTokens(text), { isQuoted: true }), length))
}

/** The same for a name that is ASCII if it is genuine: a branch, a channel, a label. */
export function quotedName(text: string, length = 80): string {
  return inQuotes(cutTo(visibleCharacters(withoutTokens(text), { isQuoted: true, isAscii: true }), length))
}

function inQuotes({ text, isCut }: { text: string; isCut: boolean }): string {
  return `“${text}”${isCut ? '…' : ''}`
}

/** The value of a detail, which stands apart. Line breaks stay if `hasLines`. */
export function shownValue(text: string, { length = 500, hasLines = false } = {}): string {
  const plain = hasLines ? text.replaceAll('\r\n', '\n') : text
  const cut = cutTo(visibleCharacters(withoutTokens(plain), { keeps: hasLines ? '\n' : '' }), length)
  return cut.isCut ? `${cut.text}…` : cut.text
}

/** Also kinds of tokens that this version doesn't issue. */
const serviceToken = /sp_[a-z]{1,20}_[0-9A-Za-z]{20,}/g

/** Our own tokens: an agent that sends its token to an API would otherwise show it to everyone who reads the page. */
export function withoutTokens(text: string): string {
  return text.includes('sp_') ? text.replaceAll(serviceToken, redacted) : text
}
