import { ServiceError } from '../errors.ts'

/** A path of this service in its normal form, as `redirect_after` names it. */
export function judgeRedirectAfter(text: string, baseUrl: URL): string {
  const path = ownPath(text, baseUrl)
  if (path === undefined) {
    const message = '"redirect_after" takes a path on this origin, such as /connections.'
    throw new ServiceError('invalid_field', { field: 'redirect_after', message })
  }
  return path
}

/** In letters that every browser reads alike; undefined for text that one would take for another place. */
export function ownPath(text: string, { origin }: URL): string | undefined {
  if (!/^\/[\x21-\x5b\x5d-\x7e]*$/.test(text)) return undefined
  const url = URL.parse(text, origin)
  if (url?.origin !== origin) return undefined
  const path = url.pathname + url.search + url.hash
  // `/.//other.example` has our origin, and as a path leads to the other.
  return path.startsWith('//') ? undefined : path
}
