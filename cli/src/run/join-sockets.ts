import type { Duplex } from 'node:stream'

const lingerMs = 5000

/** Each gets what the other sends, to the last byte. A connection that breaks on one side breaks on the other. */
export function joinSockets(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.once('close', () => {
      if (!from.readableEnded) {
        to.destroy()
        return
      }
      // Its last bytes may still be on their way out, and closing with unread input would reset the connection.
      to.resume()
      setTimeout(() => to.destroy(), lingerMs).unref()
    })
  }
}
