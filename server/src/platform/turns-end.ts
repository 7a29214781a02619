/**
 * What one turn of the event loop brings goes on together at its end: all of it takes one step, then all of it the next.
 * A step that was just taken is taken again for half the price, because its code is still in the processor's cache.
 */
let end: Promise<void> | undefined

export function turnsEnd(): Promise<void> {
  end ??= new Promise((resolve) => {
    setImmediate(() => {
      end = undefined
      resolve()
    })
  })
  return end
}
