import { ServiceError } from '../errors.ts'

/** The normalized path for `redirect_after`; throws if it is not a path on this service. */
export function judgeRedirectAfter(text: string, baseUrl: URL): string {
  const path = ownPath(text, baseUrl)
  if (path === undefined) {
    const message = '"redirect_after" must be a path on this origin, such as /connections.'
    throw new ServiceError('invalid_field', { field: 'redirect_after', message })
  }
  return path
}

/** The normalized path; undefined for text that a browser could take for another origin. */
export function ownPath(text: string, { origin }: URL): string | undefined {
  if (!/^\/[\x21-\x5b\x5d-\x7e]*$/.test(text)) return undefined
  const url = URL.parse(text, origin)
  if (url?.origin !== origin) return undefined
  const path = url.pathname + url.search + url.hash
  // `/.//other.example` has our origin, but its normalized path `//other.example` leads elsewhere.
  return path.startsWith('//') ? undefined : path
}
