import { isUtf8 } from 'node:buffer'
import { beginJson, block, blockBytes, continueJson, endJson } from './scan.ts'

/** Far deeper than real JSON, and far less than the depth at which JSON.stringify, which recurses, overflows the stack. */
export const maxJsonDepth = 500

/** JSON.parse, but refuses text that is nested too deeply to be serialized again. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError('nested too deeply')
  return JSON.parse(text)
}

/** More would take a parser too long for text that strangers send. */
const maxJsonValues = 50_000

/**
 * JSON that all parsers read alike. Of two members with the same name some take the first and some the last, so such an
 * object is refused.
 */
export function parseUnambiguousJson(text: string): unknown {
  const { names, values, depth } = measureJson(text)
  if (depth > maxJsonDepth || values > maxJsonValues) throw new SyntaxError('nested too deeply, or too many values')
  const value: unknown = JSON.parse(text)
  if (names !== countMembers(value)) throw new SyntaxError('a name is given twice')
  return value
}

/** Counts what is outside of strings: a colon follows each name, and a comma or a bracket precedes most values. */
function measureJson(text: string): { names: number; values: number; depth: number } {
  let [names, values, open, depth] = [0, 0, 0, 0]
  for (let index = 0; index < text.length; index++) {
    switch (text[index]) {
      case '"':
        while (++index < text.length && text[index] !== '"') if (text[index] === '\\') index++
        break
      case ':':
        names++
        break
      case ',':
        values++
        break
      case '[':
      case '{':
        values++
        depth = Math.max(depth, ++open)
        break
      case ']':
      case '}':
        open--
    }
  }
  return { names, values, depth }
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return inner.reduce<number>((sum, one) => sum + countMembers(one), Array.isArray(value) ? 0 : inner.length)
}

export function isTooDeep(text: string): boolean {
  if (text.length <= maxJsonDepth) return false
  let depth = 0
  let isInString = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (isInString) {
      if (character === '\\') index++
      else if (character === '"') isInString = false
    } else if (character === '"') isInString = true
    else if (character === '[' || character === '{') depth++
    else if (character === ']' || character === '}') depth--
    if (depth > maxJsonDepth) return true
  }
  return false
}

/**
 * Whether bytes are JSON (RFC 8259) in UTF-8, without parsing them into values. JSON that is nested deeper than `maxDepth`
 * is refused: parsers that recurse would run out of stack.
 */
export function isJsonText(text: Buffer, maxDepth = maxJsonDepth): boolean {
  if (!isUtf8(text)) return false
  beginJson(maxDepth)
  for (let from = 0; from < text.length; from += blockBytes) {
    const part = text.length <= blockBytes ? text : text.subarray(from, from + blockBytes)
    block.set(part)
    if (continueJson(part.length) === 0) return false
  }
  return endJson() === 1
}
