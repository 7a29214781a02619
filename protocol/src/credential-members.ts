/** The rules for what a person enters, for the service and for its form. */

/** A shorter secret could be guessed, and could not be redacted. */
export const minSecretLength = 16
export const maxMemberLength = 4096
/** Of a member whose format is a file's. */
export const maxFileLength = 16_384

/**
 * The pattern of a member: one set of characters and how many of them, such as `[a-z0-9-]{1,63}`. No regular
 * expression, so it takes linear time whatever it says.
 */
const whole = /^\[([A-Za-z0-9._-]{1,64})\]\{(\d{1,3}),(\d{1,3})\}$/

/** Undefined if the pattern is malformed. */
export function parsePattern(pattern: string): ((text: string) => boolean) | undefined {
  const [, set, least, most] = whole.exec(pattern) ?? []
  const characters = set === undefined ? undefined : charactersOf(set)
  if (!characters || Number(least) > Number(most)) return undefined
  return (text) =>
    text.length >= Number(least) && text.length <= Number(most) && Array.from(text).every((one) => characters.has(one))
}

function charactersOf(set: string): Set<string> | undefined {
  const found = new Set<string>()
  for (let at = 0; at < set.length; at++) {
    const first = set.charCodeAt(at)
    // A hyphen at either end stands for itself.
    const isRange = set[at + 1] === '-' && at + 2 < set.length
    const last = isRange ? set.charCodeAt(at + 2) : first
    if (first > last) return undefined
    for (let code = first; code <= last; code++) found.add(String.fromCharCode(code))
    if (isRange) at += 2
  }
  return found
}
