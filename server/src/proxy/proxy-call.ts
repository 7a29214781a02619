/**
 * One proxied call, step by step: authorize, record, get the token, send, redact, record the outcome. Nothing reaches
 * an upstream before the attempt is committed, and nothing comes back that did not pass the redactor.
 */
import type { CallingAgent } from '../agents/agent.ts'
import type { Hold } from '../platform/limits/byte-budget.ts'
import type { Config } from '../config/config.ts'
import { endOfTick } from '../platform/event-loop/tick-batching.ts'
import { admit } from './admit.ts'
import type { AdmitNeeds, Admission } from './admit.ts'
import type { HeaderNaming } from './answer-headers.ts'
import type { Call, ProxyInput } from './call.ts'
import { CallAborted, startFlight } from './flight.ts'
import type { Flight, FlightNeeds } from './flight.ts'
import type { Once } from './once.ts'
import type { CallTimes } from './proxy-metrics.ts'
import { send } from './send.ts'
import { streamedAnswer } from './streamed-answer.ts'
import type { StreamedReply } from '../platform/http/streamed-replies.ts'
import { noRoom, noRoomForAnswer } from './unsent-answers.ts'
import type { UnsentAnswers } from './unsent-answers.ts'
import { webSocketAnswer } from './websocket-answer.ts'
import type { WebSocketAnswer } from './websocket-answer.ts'
import { heldBytesOf, longText, wholeAnswer } from './whole-answer.ts'
import type { Envelope } from './whole-answer.ts'

export interface ProxyNeeds extends AdmitNeeds, FlightNeeds {
  config: AdmitNeeds['config'] & Pick<Config, 'proxyAnswerBytes'>
  unsentAnswers: UnsentAnswers
}

export interface Caller extends Admission {
  /** Calls back once the answer is sent, or the connection is closed before that. */
  onClosed: (then: (isSent: boolean) => void) => void
  /** How the headers of a streamed answer are named. */
  naming: HeaderNaming
  /** Is filled with the times at which the call passed from one part to the next. */
  times: CallTimes
  /** The most that is kept of a buffered answer. Default: the setting. */
  maxAnswerBytes?: number
}

/** Buffered in its envelope, streamed, or messages both ways. Or the call waits for a person. */
export type ProxyReply =
  | { kind: 'whole'; envelope: Envelope }
  | ({ kind: 'streamed' } & StreamedReply)
  | ({ kind: 'websocket' } & WebSocketAnswer)
  | { kind: 'held'; callId: string; expiresAt: Date }

export async function proxyCall(
  needs: ProxyNeeds,
  agent: CallingAgent,
  input: ProxyInput,
  caller: Caller,
): Promise<ProxyReply> {
  // Calls that arrive in the same tick are recorded in one commit.
  await endOfTick()
  const admitted = await admit(needs, agent, input, caller)
  if (admitted.kind === 'held') return admitted
  if (admitted.kind === 'stored') return storedAnswer(needs, agent.agent.agentId, admitted.envelope, caller)
  const { call, once } = admitted
  const { times } = caller
  times.admittedAt = performance.now()
  const flight = startFlight(needs, call, once)
  const room = needs.unsentAnswers.hold(call.agentId, { isSandbox: call.standing.grant.kind === 'sandbox' })
  caller.onClosed((isSent) => {
    room.release()
    if (!isSent) flight.abort(new CallAborted('caller_gone'))
  })
  try {
    return call.isStreamed
      ? await stream(needs, call, flight, caller, room)
      : { kind: 'whole', envelope: await rejectOnAbort(flight.signal, whole(needs, call, flight, caller, once, room)) }
  } catch (error) {
    await flight.failed(error as Error)
    throw error
  }
}

/** An answer that was stored. */
export function storedAnswer(
  needs: Pick<ProxyNeeds, 'unsentAnswers'>,
  agentId: string,
  envelope: Buffer,
  { onClosed }: Pick<Caller, 'onClosed'>,
): Extract<ProxyReply, { kind: 'whole' }> {
  const room = needs.unsentAnswers.hold(agentId)
  onClosed(room.release)
  if (!room.grow(envelope.length)) throw noRoom('This agent has too many unread responses. Read them first.')
  return { kind: 'whole', envelope: longText([envelope]) }
}

async function whole(
  needs: ProxyNeeds,
  first: Call,
  flight: Flight,
  { times, maxAnswerBytes: maxBytes = needs.config.proxyAnswerBytes }: Caller,
  once: Once | undefined,
  room: Hold,
): Promise<Envelope> {
  const { response, newRedactor, call } = await send(needs, first, flight, {
    limits: {
      maxBytes,
      takeRoom: (bytes) => {
        if (!room.grow(bytes)) throw noRoomForAnswer(room)
      },
    },
    exchange: async (request) => {
      // An earlier answer of this call (a 401, a redirect) is not needed any more.
      room.resize(0)
      const response = await first.route.upstream.whole(request)
      await endOfTick()
      return response
    },
    giveUp: () => undefined,
  })
  times.answeredAt = performance.now()
  const redactor = newRedactor()
  const { envelope, bytes } = await wholeAnswer({ first, last: call }, response, redactor, maxBytes)
  flight.signal.throwIfAborted()
  if (!room.resize(heldBytesOf(envelope))) throw noRoomForAnswer(room)
  const answered = () => flight.answered({ status: response.status, bytes, redactions: redactor.count() }, envelope)
  if (once) await answered()
  // The answer is sent first: unless it is stored too, it does not wait for its outcome to be recorded.
  else process.nextTick(() => void answered())
  return envelope
}

/** The call is over once its last byte, or its last message, is forwarded. */
async function stream(
  needs: ProxyNeeds,
  first: Call,
  flight: Flight,
  { times, naming }: Caller,
  room: Hold,
): Promise<ProxyReply> {
  const { response, newRedactor, call } = await send(needs, first, flight, {
    limits: { maxBytes: Infinity },
    exchange: (request) => first.route.upstream.streamed(request),
    giveUp: ({ body, socket }) => (socket ?? body).destroy?.(),
  })
  times.answeredAt = performance.now()
  const redactor = newRedactor()
  const { socket } = response
  if (socket) return { kind: 'websocket', ...webSocketAnswer({ call, flight, redactor, room }, response, socket) }
  return { kind: 'streamed', ...(await streamedAnswer({ first, last: call, flight, redactor, naming }, response)) }
}

/** Rejects immediately on an abort, whatever the upstream does then. */
function rejectOnAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error)
    })
    work.then(resolve, reject)
  })
}
