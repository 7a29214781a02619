import { ServiceError } from '../platform/errors.ts'
import { CallAborted } from './flight.ts'
import type { Flight, Seen } from './flight.ts'

/** Forwards the body of a streamed answer to the caller, and records the outcome when it ends or breaks off. */
export async function* forwardStream(
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
    // No effect if it ended above. Otherwise the reader has closed the stream.
    await flight.failed(new CallAborted('caller_gone'))
  }
}

/**
 * Aborts the call if the upstream sends nothing for that long. Applied to the upstream's own bytes, because the
 * redactor may hold some of them back for a while.
 */
export async function* withIdleTimeout(
  body: AsyncIterable<Uint8Array>,
  { abort }: Pick<Flight, 'abort'>,
  idleMs: number,
): AsyncGenerator<Uint8Array> {
  // Backpressure: while the caller has not taken the last chunk, the upstream is not read.
  let isReading = true
  const idleTimer = setTimeout(() => {
    if (isReading) abort(new ServiceError('upstream_timeout'))
  }, idleMs)
  try {
    for await (const chunk of body) {
      isReading = false
      yield chunk
      isReading = true
      idleTimer.refresh()
    }
  } finally {
    clearTimeout(idleTimer)
  }
}
