/**
 * Scans JSON text for details that `JSON.parse` hides. The text need not be valid JSON: it is scanned first, as parsing
 * JSON with very many objects is slow.
 */
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openArray = 0x5b
const backslash = 0x5c
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

/**
 * Whether an object in this JSON has two members of the same name. Parsers disagree on which one counts, so one could
 * check a value that another doesn't use. Also true if there are more than `maxParts` objects, lists and members, as
 * scanning a million of them is slow.
 */
export function hasRepeatedMember(json: string, maxParts = Number.POSITIVE_INFINITY): boolean {
  /** The names seen in each open object. Undefined for an array. */
  const open: (Set<string> | undefined)[] = []
  let isRepeated = false
  let parts = 0
  scan(json, {
    opened: (isObject) => {
      open.push(isObject ? new Set() : undefined)
      isRepeated = ++parts > maxParts
      return isRepeated
    },
    closed: () => open.pop(),
    member: (name) => {
      const names = open.at(-1)
      isRepeated = names?.has(name) === true || ++parts > maxParts
      names?.add(name)
      return isRepeated
    },
  })
  return isRepeated
}

/**
 * The source text of the members of objects in lists of the outermost object. For `{"items": [{"a": 1.0}]}`, one map in
 * which "a" is `1.0`. Numbers keep digits that JavaScript would lose.
 */
export function entryTexts(json: string): Map<string, string>[] {
  const entries: Map<string, string>[] = []
  const depthOfEntries = 3
  let depth = 0
  let name = ''
  let start = 0
  const endMember = (at: number) => {
    if (depth === depthOfEntries && start > 0) entries.at(-1)?.set(name, json.slice(start, at).trim())
    start = depth === depthOfEntries ? 0 : start
  }
  scan(json, {
    opened: (isObject) => {
      depth++
      if (isObject && depth === depthOfEntries) entries.push(new Map())
    },
    closed: (at) => {
      endMember(at)
      depth--
    },
    member: (found, after) => {
      if (depth !== depthOfEntries) return
      name = found
      start = after
    },
    comma: endMember,
  })
  return entries
}

/** `opened` and `member` stop the scan by returning true. */
interface Visitor {
  opened: (isObject: boolean) => unknown
  closed: (at: number) => void
  /** `after`: where its value begins, including whitespace. */
  member: (name: string, after: number) => unknown
  comma?: (at: number) => void
}

function scan(json: string, visitor: Visitor): void {
  let text = ''
  for (let at = 0; at < json.length; at++) {
    const character = json.charCodeAt(at)
    if (character === quote) {
      const end = endOfString(json, at)
      text = json.slice(at, end + 1)
      at = end
    } else if (character === colon) {
      if (visitor.member(nameIn(text), at + 1) === true) return
    } else if (character === openObject || character === openArray) {
      if (visitor.opened(character === openObject) === true) return
    } else if (character === closeObject || character === closeArray) visitor.closed(at)
    else if (character === comma) visitor.comma?.(at)
  }
}

function endOfString(json: string, from: number): number {
  for (let at = from + 1; at < json.length; at++) {
    const character = json.charCodeAt(at)
    if (character === backslash) at++
    else if (character === quote) return at
  }
  return json.length
}

/** Decodes escapes: "a" and "\u0061" are the same name. */
function nameIn(text: string): string {
  if (!text.includes('\\')) return text.slice(1, -1)
  try {
    return JSON.parse(text) as string
  } catch {
    return text
  }
}
