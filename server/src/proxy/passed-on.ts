import { ServiceError } from '../platform/errors.ts'
import type { Flight, Seen } from './flight.ts'

/**
 * The body of a streamed answer on its way to the caller. At its end, or where it breaks off, the outcome goes on
 * record; an upstream that falls silent is given up.
 */
export async function* passedOn(
  body: AsyncIterable<Buffer>,
  flight: Flight,
  idleMs: number,
  seen: (bytes: number) => Seen,
): AsyncGenerator<Buffer> {
  let bytes = 0
  let isOver = false
  try {
    for await (const chunk of notSilent(body, flight, idleMs)) {
      bytes += chunk.length
      yield chunk
      flight.signal.throwIfAborted()
    }
    isOver = true
    await flight.answered(seen(bytes))
  } catch (error) {
    isOver = true
    await flight.failed(flight.signal.aborted ? flight.signal.reason : error)
    throw error
  } finally {
    // The reader went away without a word.
    if (!isOver) await flight.failed(flight.signal.reason)
  }
}

async function* notSilent(body: AsyncIterable<Buffer>, flight: Flight, idleMs: number): AsyncGenerator<Buffer> {
  const source = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const silence = setTimeout(() => {
        flight.abort(new ServiceError('upstream_timeout'))
      }, idleMs)
      const { done, value } = await source.next().finally(() => {
        clearTimeout(silence)
      })
      if (done) return
      yield value
    }
  } finally {
    await source.return?.()
  }
}
