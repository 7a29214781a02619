/**
 * Whether a GET could be executed as another method: many frameworks let a header or parameter override it. The service
 * has a list of their names. Here any similar name is refused.
 */
const near = /method|verb/i

export function mayOverrideMethod(url: URL, headers: Record<string, string>): boolean {
  if (Object.keys(headers).some((name) => near.test(name))) return true
  return url.search
    .slice(1)
    .split(/[&;?]/)
    .some((pair) => near.test(undone(pair.split('=')[0] ?? '')))
}

/** Undoes nested percent-encoding. Invalid encoding is left as it is. */
function undone(name: string): string {
  let text = name
  for (let layer = 0; layer < 5 && text.includes('%'); layer++) {
    text = text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  }
  return text
}
