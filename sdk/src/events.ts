import { SallyportError } from './errors.ts'
import { eventsIn } from './event-stream.ts'
import type { ServiceEvent } from './event-stream.ts'
import { backOffMs, pause } from './retrying.ts'
import type { CallOptions, Transport } from './transport.ts'

/**
 * What happens, as it happens, over a connection that is made anew whenever it ends. Each time that it stands there is
 * an event `open` with `null`: what happened before it may have been missed, so read again what you show.
 * Ends quietly when the signal is aborted; throws where the service refuses for good.
 */
export async function* followEvents(
  transport: Transport,
  { signal, timeoutMs }: CallOptions = {},
): AsyncGenerator<ServiceEvent, void, undefined> {
  const call = { method: 'GET' as const, path: '/v4/events', headers: { accept: 'text/event-stream' } }
  for (let failed = 0; !signal?.aborted; failed++) {
    try {
      const { body } = await transport.open(call, { signal, timeoutMs })
      failed = 0
      yield { event: 'open', data: null }
      if (body) yield* eventsIn(body as ReadableStream<Uint8Array>)
    } catch (error) {
      if (signal?.aborted) return
      if (error instanceof SallyportError && !error.retryable) throw error
    }
    await pause(backOffMs(failed, 500, 30_000), signal).catch(() => undefined)
  }
}
