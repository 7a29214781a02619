import { SallyportError } from './errors.ts'
import { eventsIn } from './event-stream.ts'
import { backOffMs, pause } from './retrying.ts'
import type { CallOptions, Transport } from './transport.ts'
import type { ChangedEvent, EndedEvent } from './wire.ts'

/**
 * - `ready`: the stream is connected. Reload everything that you show. Sent again after each reconnect.
 * - `changed`: reload the data that `topics` names.
 * - `ended`: the session has ended. No more events follow.
 */
export type ServiceEvent =
  | { event: 'ready'; data: object }
  | { event: 'changed'; data: ChangedEvent }
  | { event: 'ended'; data: EndedEvent }

/** Reconnects whenever the connection ends, until the signal is aborted or the service refuses permanently. */
export async function* followEvents(
  transport: Transport,
  { signal, timeoutMs }: CallOptions = {},
): AsyncGenerator<ServiceEvent, void, undefined> {
  const call = { method: 'GET' as const, path: '/v4/events', headers: { accept: 'text/event-stream' } }
  for (let failed = 0; !signal?.aborted; failed++) {
    try {
      const { body } = await transport.open(call, { signal, timeoutMs })
      failed = 0
      for await (const event of eventsIn(body as ReadableStream<Uint8Array>)) {
        const known = event as ServiceEvent
        if (!isStopping(known)) yield known
        if (known.event === 'ended' && !isStopping(known)) return
      }
    } catch (error) {
      if (signal?.aborted) return
      if (error instanceof SallyportError && !error.retryable) throw error
    }
    await pause(backOffMs(failed, 500, 30_000), signal).catch(() => undefined)
  }
}

/** This server process is shutting down; reconnecting reaches another one. */
function isStopping(event: ServiceEvent): boolean {
  return event.event === 'ended' && event.data.reason === 'stopping'
}
