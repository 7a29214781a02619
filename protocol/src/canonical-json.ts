/**
 * Canonical JSON (RFC 8785), so that everyone computes the same hash or signature of a value. Undefined members are
 * left out, as in JSON. Throws a RangeError for values that JSON can't represent: NaN, infinities, lone surrogates, and
 * anything that is not JSON.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return canonicalString(value)
  if (typeof value === 'number') {
    // ECMAScript formats numbers as RFC 8785 §3.2.2.3 requires. -0 becomes 0.
    if (Number.isFinite(value)) return JSON.stringify(value)
    throw new RangeError('JSON has no such number')
  }
  if (Array.isArray(value)) return `[${Array.from(value, canonicalJson).join(',')}]`
  if (typeof value === 'object' && isPlain(value)) {
    // Sorted by UTF-16 code units (§3.2.3), which is how ECMAScript compares strings.
    const names = Object.keys(value).sort()
    const members = value as Record<string, unknown>
    const texts = names
      .filter((name) => members[name] !== undefined)
      .map((name) => `${canonicalString(name)}:${canonicalJson(members[name])}`)
    return `{${texts.join(',')}}`
  }
  throw new RangeError('this is not a JSON value')
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw new RangeError('half of a surrogate pair is no text')
  return JSON.stringify(text)
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
