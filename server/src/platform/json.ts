import { isUtf8 } from 'node:buffer'
import { beginJson, block, blockBytes, continueJson, endJson } from './scan.ts'

/** Far deeper than real JSON, and far less than the depth at which JSON.stringify, which recurses, overflows the stack. */
export const maxJsonDepth = 500

/** JSON.parse, but refuses text that is nested too deeply to be serialized again. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError('nested too deeply')
  return JSON.parse(text)
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
