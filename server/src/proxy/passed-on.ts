import { ServiceError } from '../platform/errors.ts'
import { CallerGone } from './flight.ts'
import type { Flight, Seen } from './flight.ts'

/**
 * The body of a streamed answer on its way to the caller. At its end, or where it breaks off, the outcome goes on
 * record.
 */
export async function* passedOn(
  body: AsyncIterable<Buffer>,
  flight: Flight,
  seen: (bytes: number) => Seen,
): AsyncGenerator<Buffer> {
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += chunk.length
      yield chunk
      flight.signal.throwIfAborted()
    }
    await flight.answered(seen(bytes))
  } catch (error) {
    await flight.failed(error as Error)
    throw error
  } finally {
    // Where it is not over by now, the reader went away without a word.
    await flight.failed(new CallerGone())
  }
}

/** An upstream that falls silent is given up. It has to be heard itself: what it says may be held back for a while. */
export async function* notSilent(
  body: AsyncIterable<Uint8Array>,
  { abort }: Pick<Flight, 'abort'>,
  idleMs: number,
): AsyncGenerator<Uint8Array> {
  // While the caller takes its time with what came, the upstream can't be heard.
  let isListening = true
  const silence = setTimeout(() => {
    if (isListening) abort(new ServiceError('upstream_timeout'))
  }, idleMs)
  try {
    for await (const chunk of body) {
      isListening = false
      yield chunk
      isListening = true
      silence.refresh()
    }
  } finally {
    clearTimeout(silence)
  }
}
