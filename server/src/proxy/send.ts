/**
 * Sends a call and returns the final answer. After a 401 it is sent once more with a renewed token; redirects are
 * followed if the caller asked for that. Every request is recorded before it goes out.
 */
import type { ErrorCode } from '@sallyport/protocol/errors'
import type { CallLog } from '../call-log/call-log.ts'
import type { Clock } from '../platform/clock.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Secret } from '../platform/secret.ts'
import { createRedactor } from '../redaction/redactor.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { formsWith } from '../redaction/secret-forms.ts'
import type { SecretForms } from '../redaction/secret-forms.ts'
import type { Call } from './call.ts'
import type { Flight } from './flight.ts'
import { redirected } from './redirect.ts'
import type { Credential, UpstreamHead, UpstreamRequest } from './upstream.ts'

interface SendNeeds {
  callLog: CallLog
  clock: Clock
}

/** How one request is made, and how an answer is discarded unread. */
interface Exchange<Response> {
  exchange: (request: UpstreamRequest) => Promise<Response>
  giveUp: (response: Response) => unknown
  limits: Pick<UpstreamRequest['limits'], 'maxBytes' | 'takeRoom'>
}

interface Sent<Response> {
  response: Response
  /** Finds the secrets that the request was sent with, and those of the requests before it. */
  newRedactor: () => Redactor
  /** As it was sent last, after redirects. */
  call: Call
}

const maxRedirects = 5

/** The first attempt is recorded already. */
export async function send<Response extends UpstreamHead>(
  { callLog, clock }: SendNeeds,
  first: Call,
  { signal, markSent }: Pick<Flight, 'signal' | 'markSent'>,
  { exchange, giveUp, limits: { maxBytes, takeRoom } }: Exchange<Response>,
): Promise<Sent<Response>> {
  const startedAt = performance.now()
  /** The time that a caller takes to stream the body does not count. */
  const deadline = () => (first.upload?.endedAt ?? startedAt) + first.timeoutMs
  /** Signatures of every request so far: an upstream may repeat an earlier one after a redirect. */
  const signatures: Secret[] = []
  const request = (call: Call, credential: Credential): Promise<Response> => {
    signal.throwIfAborted()
    const wholeMs = Math.ceil(deadline() - performance.now())
    if (wholeMs <= 0) throw new ServiceError('upstream_timeout')
    markSent(call)
    const { method, destination, body, upload, firstByteMs, isHandshake } = call
    const limits = { wholeMs, firstByteMs, maxBytes, takeRoom }
    const content = { body, ...(upload && { bodyStream: upload }), ...(isHandshake && { isHandshake }) }
    const sent: UpstreamRequest = { method, url: destination.url, headers: call.headers, ...content, signal, limits }
    const signing = credential.apply(sent, call.aws)
    if (!signing) return exchange(sent)
    return signing.then((added) => {
      signatures.push(...added)
      return exchange(sent)
    })
  }
  const sentWith = (response: Response, credential: Credential, call: Call): Sent<Response> => {
    return { response, newRedactor: redactorsFor(credential, [...signatures]), call }
  }
  const credentialOf = ({ route }: Call, refused?: number): Credential | Promise<Credential> => {
    signal.throwIfAborted()
    const credential = route.credential(refused)
    return credential instanceof Promise ? withDeadline(credential, deadline(), signal) : credential
  }
  const requestWithLiveToken = async (call: Call): Promise<Sent<Response>> => {
    const credential = await credentialOf(call)
    // While the token was being renewed the grant may have ended.
    if (credential.wasAwaited) await callLog.assertStillUsable(call)
    const response = await request(call, credential)
    const { version } = credential
    const renewed =
      response.status === 401 && version !== undefined
        ? await unlessUnavailable(credentialOf(call, version), version)
        : undefined
    if (!renewed || call.upload) return sentWith(response, credential, call)
    giveUp(response)
    await callLog.hop(call, 'token_renewed')
    return sentWith(await request(call, renewed), renewed, call)
  }

  let sent = await requestWithLiveToken(first)
  for (let hops = 0; first.followsRedirects && hops < maxRedirects; hops++) {
    const next = redirected(sent.call, sent.response, sent.newRedactor(), clock())
    if (!next || !(await mayGoOn(callLog, next))) break
    giveUp(sent.response)
    sent = await requestWithLiveToken(next)
  }
  return sent
}

function redactorsFor({ forms, newestForms }: Credential, signatures: readonly Secret[]): () => Redactor {
  if (signatures.length === 0) return () => createRedactor(forms, newestForms)
  let known: { of: SecretForms; all: SecretForms } | undefined
  const newest = () => {
    const of = newestForms?.() ?? forms
    if (known?.of !== of) known = { of, all: formsWith(of, signatures) }
    return known.all
  }
  return () => createRedactor(forms, newest)
}

const endsRedirects: readonly ErrorCode[] = ['grant_exhausted', 'rate_limited', 'host_not_allowed']

/**
 * False if the grant or its agent has no call left, or the provider has lost the host: then the redirect itself is the
 * answer.
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

/** Undefined if there is no new token: then the upstream's 401 is the answer. */
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

/** Gives up waiting at the deadline or an abort. The renewal itself continues: other calls wait for it too. */
function withDeadline<T>(work: Promise<T>, deadline: number, signal: AbortSignal): Promise<T> {
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
