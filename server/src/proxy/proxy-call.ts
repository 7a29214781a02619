/**
 * One proxied call, step by step: who, may it, on record, token, out, back, done. Nothing reaches an upstream before
 * the attempt is committed, and nothing comes back that did not pass the redactor.
 */
import type { CallingAgent } from '../agents/agent.ts'
import type { Hold } from '../platform/limits/byte-budget.ts'
import type { Config } from '../config/config.ts'
import type { StopSignal } from '../platform/stop-signal.ts'
import { endOfTick } from '../platform/event-loop/tick-batching.ts'
import { createRedactor } from '../redaction/redactor.ts'
import { admit } from './admit.ts'
import type { AdmitNeeds, Admission } from './admit.ts'
import type { HeaderNaming } from './answer-headers.ts'
import type { Call, ProxyInput } from './call.ts'
import { CallerGone, takeOff } from './flight.ts'
import type { Flight, FlightNeeds } from './flight.ts'
import type { KeyedCall } from './idempotency.ts'
import { notSilent, passedOn } from './passed-on.ts'
import type { CallTimes } from './proxy-metrics.ts'
import { send } from './send.ts'
import { streamedAnswer } from './streamed-answer.ts'
import type { ReadableAnswer } from './streamed-answer.ts'
import { noRoom, noRoomForAnswer } from './unsent-answers.ts'
import type { UnsentAnswers } from './unsent-answers.ts'
import { heldBytesOf, longText, wholeAnswer } from './whole-answer.ts'
import type { Envelope } from './whole-answer.ts'

export interface ProxyNeeds extends AdmitNeeds, FlightNeeds {
  config: AdmitNeeds['config'] & Pick<Config, 'proxyAnswerBytes' | 'proxyIdleSeconds'>
  unsentAnswers: UnsentAnswers
}

export interface Caller extends Admission {
  /** Calls back once the caller has hung up before the answer was complete. */
  onGone: (then: () => void) => void
  /** Calls back once the answer is sent, or the connection closed. */
  onClosed: (then: () => void) => void
  /** Of a streamed answer's headers. Prefixed unless said otherwise. */
  naming?: HeaderNaming
  /** Gets the moments at which the call passed from one part to the next. */
  times?: CallTimes
}

/** In its envelope, or to be passed on as it comes. */
export type ProxyReply = { kind: 'whole'; envelope: Envelope } | ({ kind: 'streamed' } & ReadableAnswer)

export async function proxyCall(
  needs: ProxyNeeds,
  agent: CallingAgent,
  input: ProxyInput,
  caller: Caller,
): Promise<ProxyReply> {
  // Calls that came together are put on record together.
  await endOfTick()
  const admitted = await admit(needs, agent, input, caller)
  if (admitted.kind === 'stored') return stored(needs, agent.agent, admitted.envelope, caller)
  const { call, keyed } = admitted
  const times = caller.times ?? { startedAt: 0 }
  times.admittedAt = performance.now()
  const flight = takeOff(needs, call, keyed)
  const room = needs.unsentAnswers.hold(call.agentId, { isSandbox: call.standing.grant.kind === 'sandbox' })
  caller.onClosed(room.release)
  caller.onGone(() => {
    flight.abort(new CallerGone())
  })
  try {
    return call.isStreamed
      ? { kind: 'streamed', ...(await stream(needs, call, flight, times, caller.naming)) }
      : { kind: 'whole', envelope: await unlessAborted(flight.signal, whole(needs, call, flight, times, keyed, room)) }
  } catch (error) {
    await flight.failed(error as Error)
    throw error
  }
}

function stored(
  needs: ProxyNeeds,
  { agentId }: CallingAgent['agent'],
  envelope: Buffer,
  { onClosed }: Caller,
): ProxyReply {
  const room = needs.unsentAnswers.hold(agentId)
  onClosed(room.release)
  if (!room.grow(envelope.length)) throw noRoom('Answers of this agent wait to be read. Read them first.')
  return { kind: 'whole', envelope: longText([envelope]) }
}

async function whole(
  needs: ProxyNeeds,
  first: Call,
  flight: Flight,
  times: CallTimes,
  keyed: KeyedCall | undefined,
  room: Hold,
): Promise<Envelope> {
  const maxBytes = needs.config.proxyAnswerBytes
  const { response, credential, call } = await send(needs, first, flight, {
    maxBytes,
    exchange: async (request) => {
      // The answer before it, if there was one, is not needed any more.
      room.resize(0)
      const takeRoom = (bytes: number) => {
        if (!room.grow(bytes)) throw noRoomForAnswer(room)
      }
      const response = await first.route.upstream.whole({ ...request, takeRoom })
      await endOfTick()
      return response
    },
    giveUp: () => undefined,
  })
  times.answeredAt = performance.now()
  const redactor = createRedactor(credential.forms, credential.newestForms)
  const { envelope, bytes } = await wholeAnswer({ first, last: call }, response, redactor, maxBytes)
  flight.signal.throwIfAborted()
  if (!room.resize(heldBytesOf(envelope))) throw noRoomForAnswer(room)
  const answered = () => flight.answered({ status: response.status, bytes, redactions: redactor.count() }, envelope)
  if (keyed) await answered()
  // Once the answer is on its way, which need not wait for it.
  else process.nextTick(() => void answered())
  return envelope
}

/** The call is over once its last byte is passed on. */
async function stream(
  needs: ProxyNeeds,
  first: Call,
  flight: Flight,
  times: CallTimes,
  naming: HeaderNaming = { prefixed: true, ownHosts: [] },
): Promise<ReadableAnswer> {
  const { response, credential, call } = await send(needs, first, flight, {
    maxBytes: Infinity,
    exchange: (request) => first.route.upstream.streamed(request),
    giveUp: ({ body }) => body.destroy?.(),
  })
  times.answeredAt = performance.now()
  const redactor = createRedactor(credential.forms, credential.newestForms)
  const heard = notSilent(response.body, flight, needs.config.proxyIdleSeconds * 1000)
  const answer = streamedAnswer({ first, last: call }, { ...response, body: heard }, redactor, naming)
  const body = passedOn(answer.body, flight, (bytes) => ({
    status: response.status,
    bytes,
    redactions: redactor.count(),
  }))
  return { ...answer, body, signal: flight.signal, giveUp: () => void flight.failed(new CallerGone()) }
}

/** The answer to the caller does not wait until the upstream has noticed, nor for what it then says. */
function unlessAborted<T>(signal: StopSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error)
    })
    work.then(resolve, reject)
  })
}
