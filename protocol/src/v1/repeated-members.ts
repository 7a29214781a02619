/**
 * Whether some object in this JSON text has two members of one name. Readers disagree on which of them counts, so that
 * one could check what another does not use. The text has to be JSON: `JSON.parse` says so first.
 */
export function hasRepeatedMember(json: string): boolean {
  /** The names seen in each object that is open; undefined for an array. */
  const open: (Set<string> | undefined)[] = []
  const token = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/gs
  for (const [text, colon] of json.matchAll(token)) {
    if (text === '{') open.push(new Set())
    else if (text === '[') open.push(undefined)
    else if (text === '}' || text === ']') open.pop()
    else if (colon !== undefined) {
      // Escapes are undone: "a" and "\u0061" are one name.
      const name = JSON.parse(text.slice(0, text.length - colon.length)) as string
      const names = open.at(-1)
      if (names?.has(name)) return true
      names?.add(name)
    }
  }
  return false
}
