import { ServiceError } from '../platform/errors.ts'
import { CallerGone } from './flight.ts'
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
  try {
    for await (const chunk of notSilent(body, flight, idleMs)) {
      bytes += chunk.length
      yield chunk
      flight.signal.throwIfAborted()
    }
    await flight.answered(seen(bytes))
  } catch (error) {
    await flight.failed(error)
    throw error
  } finally {
    // Where it is not over by now, the reader went away without a word.
    await flight.failed(new CallerGone())
  }
}

async function* notSilent(body: AsyncIterable<Buffer>, flight: Flight, idleMs: number): AsyncGenerator<Buffer> {
  const source = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const silence = setTimeout(() => {
        flight.abort(new ServiceError('upstream_timeout'))
      }, idleMs)
      const next: IteratorResult<Buffer, unknown> = await source.next().finally(() => {
        clearTimeout(silence)
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    await source.return?.()
  }
}
