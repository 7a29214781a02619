/** Where the user was on each page, for Back and Forward. A new visit begins at the top. */
const positions = new Map<string, number>()
let isReturning = false

addEventListener('popstate', () => {
  isReturning = true
})
// The router dispatches it.
addEventListener('pushState', () => {
  isReturning = false
})
addEventListener(
  'scroll',
  () => {
    if (!isReturning) positions.set(location.href, scrollY)
  },
  { passive: true },
)

/** By Back or Forward, until the place is taken. */
export function isComingBack(): boolean {
  return isReturning
}

/** Scrolls to where the user was if they come back to this address, and to the top otherwise. */
export function takePlace(): void {
  scrollTo(0, isReturning ? (positions.get(location.href) ?? 0) : 0)
  isReturning = false
}
