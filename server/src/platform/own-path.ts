/** A path of this service in its normal form; undefined for text that a browser would take for another place. */
export function ownPath(text: string, { origin }: URL): string | undefined {
  if (!text.startsWith('/')) return undefined
  const url = URL.parse(text, origin)
  if (url?.origin !== origin) return undefined
  const path = url.pathname + url.search + url.hash
  // `/.//other.example` has our origin, and as a path leads to the other.
  return path.startsWith('//') ? undefined : path
}
