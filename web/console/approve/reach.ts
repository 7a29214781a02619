/** Comparing hosts, methods and paths as grants do. */
import { patternFault, withCredentialSegment } from '@sallyport/protocol/path-pattern'
import type { PatternFault } from '@sallyport/protocol/path-pattern'

const reading = ['GET', 'HEAD', 'OPTIONS']

export function isReading(method: string): boolean {
  return reading.includes(method)
}

export function isWildcard(host: string): boolean {
  return host.startsWith('*.')
}

/** Compares whole segments. `*` matches any one segment. */
export function isBelow(pattern: string, path: string): boolean {
  const [wide = [], narrow = []] = [pattern, path].map((text) => text.split('/').filter((segment) => segment !== ''))
  return wide.every((segment, index) => (segment === '*' ? narrow[index] !== undefined : segment === narrow[index]))
}

const oddities: Record<PatternFault, string> = {
  too_long: 'A path can have up to 1,024 characters',
  no_slash: 'A path must start with a slash',
  not_normal: 'A path can’t contain “..”, spaces, “?”, “#” or other characters that URLs escape',
  ambiguous: 'A path can’t contain an empty segment or an escaped slash or dot',
  star_in_segment: 'A * must stand for a whole segment, as in /users/*/mail',
}

/** Why one of these is not a path, in the terms of the service. */
export function oddPath(paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const fault = patternFault(withCredentialSegment(path))
    if (fault) return `${oddities[fault]}: ${path}`
  }
  return undefined
}
