/**
 * An API that agreed to a WebSocket. The call lasts as long as the connection: it is in flight, ends with its grant, and its
 * outcome is recorded at its end. Whatever the API sends passes the redactor, a message at a time.
 */
import type { Duplex } from 'node:stream'
import { errorKinds } from '@sallyport/protocol/errors'
import { maxControlBytes } from '@sallyport/protocol/websocket-messages'
import type { Message } from '@sallyport/protocol/websocket-messages'
import { ServiceError } from '../platform/errors.ts'
import type { Hold } from '../platform/limits/byte-budget.ts'
import { answerHeaders, faultOfAnswer } from '../platform/websockets/handshake.ts'
import { relay } from '../platform/websockets/relay.ts'
import type { CloseReason, RelayEnd } from '../platform/websockets/relay.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Call } from './call.ts'
import { CallAborted } from './flight.ts'
import type { Flight } from './flight.ts'
import type { HeaderList, StreamedResponse } from './upstream.ts'

/** Its connection has to be relayed. */
export interface WebSocketAnswer {
  /** For the client's own key. */
  headers: (clientKey: string) => HeaderList
  /** Resolves once the call is over. The sockets are closed soon after that. */
  relay: (client: Duplex) => Promise<void>
  /** The service stops. */
  end: () => void
}

interface OpenCall {
  call: Call
  flight: Flight
  redactor: Redactor
  room: Pick<Hold, 'resize'>
}

export function webSocketAnswer(open: OpenCall, response: StreamedResponse, server: Duplex): WebSocketAnswer {
  const { call, flight, redactor } = open
  const { destination, auditId, idleMs } = call
  const fault = faultOfAnswer(call.headers, response.headers)
  if (fault !== undefined) {
    server.destroy()
    throw new ServiceError('upstream_unreachable', {
      detail: `${destination.host}: answered a handshake with ${fault}`,
    })
  }
  let isRelayed = false
  let bytes = 0
  // Nobody relays a connection whose call was over before.
  flight.signal.addEventListener('abort', () => {
    if (!isRelayed) server.destroy()
  })
  const change = async (message: Message): Promise<Message> => {
    const redacted = await redactedMessage(message, redactor)
    bytes += redacted.data.length
    return redacted
  }
  return {
    headers: (clientKey) => [
      ...answerHeaders(clientKey, response.headers),
      ['x-sallyport-audit-id', auditId],
      ['x-sallyport-upstream', '1'],
    ],
    end: () => {
      flight.abort(new CallAborted('service_stopped'))
    },
    relay: async (client) => {
      isRelayed = true
      const takeRoom = (held: number) => open.room.resize(held)
      const end = await relay({ client, server, change, takeRoom, idleMs, signal: flight.signal, reasonOf })
      const failure = failureOf(end, flight.signal)
      if (failure) await flight.failed(failure)
      else await flight.answered({ status: response.status, bytes, redactions: redactor.count() })
    },
  }
}

async function redactedMessage({ kind, data }: Message, redactor: Redactor): Promise<Message> {
  const isText = kind === 'text' || kind === 'binary'
  if (kind !== 'close') {
    const redacted = await redactor.body(data)
    return { kind, data: isText ? redacted : redacted.subarray(0, maxControlBytes) }
  }
  const reason = await redactor.body(data.subarray(2))
  const whole = Buffer.concat([data.subarray(0, 2), reason])
  return { kind, data: whole.length > maxControlBytes ? whole.subarray(0, 2) : whole }
}

/** Undefined: both sides agreed on the end. */
function failureOf(end: RelayEnd, { reason }: AbortSignal): Error | undefined {
  if (end.kind === 'closed') return undefined
  if (end.kind === 'aborted') return reason as Error
  if (end.kind === 'idle') return new ServiceError('upstream_timeout')
  return end.by === 'client' ? new CallAborted('caller_gone') : new ServiceError('upstream_unreachable')
}

/** RFC 6455 §7.4.1: 1008 is for a policy, 1001 for an end that is nobody's fault. */
function reasonOf(reason: unknown): CloseReason {
  if (!(reason instanceof ServiceError)) return { code: 1001, sentence: 'The service is stopping.' }
  return { code: 1008, sentence: reason.publicMessage ?? errorKinds[reason.code].message }
}
