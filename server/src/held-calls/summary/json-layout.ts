/**
 * JSON with line breaks and indentation. Numbers stay as they are written, since parsing could round them; strings are
 * decoded, since escapes could hide words. Relies on text that was parsed before.
 */
import { visibleCharacters, withoutTokens } from './visible-text.ts'

const indentation = '  '
const deepestIndentation = 20

/** Yields pieces, so that the caller can stop when it has enough. */
export function* layOutJson(text: string): Generator<string> {
  let depth = 0
  const newLine = () => `\n${indentation.repeat(Math.min(depth, deepestIndentation))}`
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '"') {
      const end = endOfString(text, at)
      yield* shownString(text.slice(at, end))
      at = end - 1
    } else if (character === '{' || character === '[') {
      const closing = nextAfterBlanks(text, at + 1)
      const isEmpty = text.charAt(closing) === '}' || text.charAt(closing) === ']'
      yield character
      if (isEmpty) {
        yield text.charAt(closing)
        at = closing
      } else {
        depth++
        yield newLine()
      }
    } else if (character === '}' || character === ']') {
      depth--
      yield `${newLine()}${character}`
    } else if (character === ',') yield `,${newLine()}`
    else if (character === ':') yield ': '
    else if (!isBlank(character)) yield character
  }
}

function endOfString(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1
  return at + 1
}

function nextAfterBlanks(text: string, from: number): number {
  let at = from
  while (isBlank(text.charAt(at))) at++
  return at
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t'
}

function* shownString(literal: string): Generator<string> {
  const value = JSON.parse(literal) as string
  yield '"'
  for (const character of visibleCharacters(withoutTokens(value))) {
    yield character === '"' || character === '\\' ? `\\${character}` : character
  }
  yield '"'
}
