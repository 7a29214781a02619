/**
 * Says whether bytes are JSON (RFC 8259) without building anything of it: what is passed on as JSON must be JSON, and
 * nobody here looks inside. Nested deeper than `maxDepth` it counts as none: readers that recurse run out of stack.
 */
import { isUtf8 } from 'node:buffer'
import { maxJsonDepth } from './json.ts'
import { beginJson, block, blockBytes, continueJson, endJson } from './scan.ts'

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
