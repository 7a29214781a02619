/**
 * Whether a call that says GET could be taken for another: many frameworks let a header or a parameter override the
 * method. The service counts those by name; here whatever comes near one is enough to say no.
 */
const near = /method|verb/i

export function meansAnotherMethod(url: URL, headers: Record<string, string>): boolean {
  if (Object.keys(headers).some((name) => near.test(name))) return true
  return url.search
    .slice(1)
    .split(/[&;?]/)
    .some((pair) => near.test(undone(pair.split('=')[0] ?? '')))
}

/** Escapes within escapes; what can not be undone counts as it is. */
function undone(name: string): string {
  let text = name
  for (let layer = 0; layer < 5 && text.includes('%'); layer++) {
    text = text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  }
  return text
}
