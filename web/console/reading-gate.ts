/**
 * Reads wait until the page is told of changes: what was read before that has to be read again, as it may have changed
 * meanwhile. They don't wait long, because the page is of use without live updates too.
 */
import { watchedFetch } from '../ui/reachability.ts'

const longestMs = 1_000

let gate: Promise<void> | undefined

/** Returns a function that opens it. */
export function closeGate(): () => void {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  setTimeout(resolve, longestMs)
  gate = promise
  return () => {
    resolve(undefined)
  }
}

export const gatedFetch: typeof fetch = async (input, init) => {
  if (gate && (init?.method ?? 'GET') === 'GET' && !isNeededFirst(input)) await gate
  return watchedFetch(input, init)
}

/** The stream of changes, and who is signed in. */
function isNeededFirst(input: RequestInfo | URL): boolean {
  const { pathname } = new URL(input instanceof Request ? input.url : input, location.href)
  return /\/v4\/(?:events|auth\/me)$/.test(pathname)
}
