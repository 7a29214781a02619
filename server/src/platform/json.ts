/** Far more than anyone writes, and far less than what JSON.stringify, which recurses, runs out of stack at. */
export const maxJsonDepth = 500

/** JSON.parse, except that text nested too deeply to be written again is no JSON here. */
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
