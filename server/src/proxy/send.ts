/**
 * Sends a call and brings back the answer that counts: once more with a renewed token where the upstream refused the
 * first, and from where it redirects to, if the caller asked for that. Every request is on record before it goes out.
 */
import type { ErrorCode } from '@sallyport/protocol/errors'
import type { Clock } from '../platform/clock.ts'
import { ServiceError } from '../platform/errors.ts'
import type { StopSignal } from '../platform/stop-signal.ts'
import { createRedactor } from '../redaction/redactor.ts'
import type { Call } from './call.ts'
import type { Flight } from './flight.ts'
import type { CallLog } from '../call-log/call-log.ts'
import { redirected } from './redirect.ts'
import type { Credential, HeaderList, UpstreamHead, UpstreamRequest } from './upstream.ts'

export interface SendNeeds {
  callLog: CallLog
  clock: Clock
}

/** How one request is made, and how an answer that nobody will read is given up. */
export interface Exchange<Response> {
  exchange: (request: UpstreamRequest) => Promise<Response>
  giveUp: (response: Response) => unknown
  maxBytes: number
}

export interface Sent<Response> {
  response: Response
  credential: Credential
  /** As it was sent last: elsewhere, after redirects. */
  call: Call
}

const mostRedirects = 5

/** The first attempt is on record already. */
export async function send<Response extends UpstreamHead>(
  { callLog, clock }: SendNeeds,
  first: Call,
  { signal, leavesNow }: Pick<Flight, 'signal' | 'leavesNow'>,
  { exchange, giveUp, maxBytes }: Exchange<Response>,
): Promise<Sent<Response>> {
  const deadline = performance.now() + first.timeoutMs
  const request = (call: Call, credential: Credential): Promise<Response> => {
    signal.throwIfAborted()
    const timeoutMs = Math.ceil(deadline - performance.now())
    if (timeoutMs <= 0) throw new ServiceError('upstream_timeout')
    leavesNow()
    const { method, destination, body, firstByteMs } = call
    const headers = withCredential(call.headers, credential)
    return exchange({ method, url: destination.url, headers, body, firstByteMs, timeoutMs, signal, maxBytes })
  }
  const credentialOf = ({ route }: Call, refused?: number): Credential | Promise<Credential> => {
    signal.throwIfAborted()
    const credential = route.credential(refused)
    return credential instanceof Promise ? inTime(credential, deadline, signal) : credential
  }
  const requestWithLiveToken = async (call: Call): Promise<Sent<Response>> => {
    const credential = await credentialOf(call)
    // What was waited for is used only by whom may still call.
    if (credential.wasAwaited) await callLog.assertStillUsable(call)
    const response = await request(call, credential)
    const { version } = credential
    const renewed =
      response.status === 401 && version !== undefined
        ? await unlessUnavailable(credentialOf(call, version), version)
        : undefined
    if (!renewed) return { response, credential, call }
    giveUp(response)
    await callLog.hop(call, 'token_renewed')
    return { response: await request(call, renewed), credential: renewed, call }
  }

  let sent = await requestWithLiveToken(first)
  for (let hops = 0; first.followsRedirects && hops < mostRedirects; hops++) {
    const next = redirected(sent.call, sent.response, createRedactor(sent.credential.forms), clock())
    if (!next || !(await mayGoOn(callLog, next))) break
    giveUp(sent.response)
    sent = await requestWithLiveToken(next)
  }
  return sent
}

const endsRedirects: readonly ErrorCode[] = ['grant_exhausted', 'rate_limited', 'host_not_allowed']

/**
 * False where the grant or its agent has no call left, or the provider has lost the host: the answer that there is
 * already is not lost for that.
 */
async function mayGoOn(callLog: CallLog, next: Call): Promise<boolean> {
  try {
    await callLog.hop(next, 'redirect')
    return true
  } catch (error) {
    if (error instanceof ServiceError && endsRedirects.includes(error.code)) return false
    throw error
  }
}

/** Undefined where there is no other: then the upstream's refusal is the answer. */
async function unlessUnavailable(
  renewing: Credential | Promise<Credential>,
  refused: number,
): Promise<Credential | undefined> {
  try {
    const renewed = await renewing
    return renewed.version === refused ? undefined : renewed
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'provider_unavailable') return undefined
    throw error
  }
}

/** Who can't wait any longer leaves. The token goes on being renewed: others wait for it too. */
function inTime<T>(work: Promise<T>, deadline: number, signal: StopSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      reject(signal.reason as Error)
    }
    const onTime = () => {
      reject(new ServiceError('provider_unavailable', { detail: 'no token in time' }))
    }
    const timer = setTimeout(onTime, deadline - performance.now())
    signal.addEventListener('abort', onAbort)
    work
      .finally(() => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      })
      .then(resolve, reject)
  })
}

function withCredential(headers: HeaderList, { header }: Credential): HeaderList {
  return [...headers, [header.name, header.value.reveal()]]
}
