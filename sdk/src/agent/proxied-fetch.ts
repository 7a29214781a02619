/**
 * A `fetch` whose requests go through the service, which adds the user's credential. Each redirect is a separate proxy
 * call, so the service checks the grant for every URL.
 */
import { SallyportError } from '../errors.ts'
import { readBounded } from '../read-bounded.ts'
import type { Transport } from '../transport.ts'
import type { HeldReply, ProxyBody } from '../wire.ts'
import { isHeld } from './call-outcome.ts'
import type { HeldCallOptions, HeldCalls } from './held-calls.ts'
import { envelopeResponse, refusalResponse, toResponse } from './proxied-response.ts'
import type { Answered } from './proxied-response.ts'
import { isRedirect, readRequest, redirected } from './proxied-request.ts'
import type { Hop } from './proxied-request.ts'

export interface FetchOptions extends Omit<HeldCallOptions, 'signal'> {
  /**
   * How long a call may take, until the last byte of the response. The default and maximum is 300,000. With `null`
   * there is no limit for the body, but the response has to start within the service's own limit (30 seconds). The time
   * in which a person decides does not count.
   */
  timeoutMs?: number | null | undefined
  /**
   * What to do when the service refuses a call or can't make it. `'respond'` (the default) returns a `Response` with
   * the service's status, its error as JSON and an `x-sallyport-error: <code>` header, so that a library reports it
   * like an error of the API. `'throw'` throws the `SallyportError`. A function turns it into a `Response`.
   */
  onRefusal?: 'respond' | 'throw' | ((refusal: SallyportError) => Response) | undefined
  /** Called before a redirect is followed. Throw to end the call without following it. */
  onRedirect?: ((url: string) => void) | undefined
  /**
   * Why the calls are made: shown to a person who has to approve one, as the agent's own words. For a single call, set
   * the header `x-sallyport-reason`, which is not sent to the API.
   */
  reason?: string | undefined
}

const longestMs = 300_000
const mostRedirects = 20
const maxHeldReplyBytes = 16_384
/**
 * Asks the service to prefix the upstream's header names: otherwise some runtimes would act on them, for example follow
 * a redirect themselves.
 */
const headers = { 'x-sallyport-header-names': 'prefixed' }
/** Keeps the caller's Request alive while the body is read: its signal stops working once it is garbage collected. */
const signalOwners = new WeakMap<ReadableStream, Request>()

export function proxiedFetch(
  { transport, settle }: { transport: Transport; settle: HeldCalls['settle'] },
  grantId: string,
  { timeoutMs = longestMs, onRefusal = 'respond', onRedirect, reason, ...waiting }: FetchOptions = {},
): typeof globalThis.fetch {
  const send = async (hop: Hop, signal: AbortSignal | undefined, answered: Answered): Promise<Response> => {
    const why = hop.reason ?? reason
    const upload = typeof hop.body === 'string' ? undefined : hop.body
    const body: ProxyBody = {
      grant_id: grantId,
      method: hop.method,
      url: hop.url,
      headers: Object.fromEntries(hop.headers),
      ...(typeof hop.body === 'string' && hop.body !== '' && { body_base64: hop.body }),
      ...(timeoutMs !== null && { timeout_ms: timeoutMs }),
      ...(why !== undefined && { reason: why }),
      stream: true,
    }
    const call = { method: 'POST', path: '/v4/proxy', body, headers, showsRedirects: true } as const
    // A stream can't be sent again. How long an upload takes is not known; the service ends one that stalls.
    const answer = upload
      ? await transport.open({ ...call, upload }, { signal, timeoutMs: Infinity })
      : await transport.open(
          { ...call, rateWaitMs: timeoutMs ?? longestMs },
          { signal, timeoutMs: (timeoutMs ?? longestMs) + 10_000 },
        )
    if (answer.headers.has('x-sallyport-upstream')) return toResponse(answer, answered)
    const held = answer.status === 202 ? await heldReplyIn(answer) : undefined
    if (held) return envelopeResponse(await settle(held, { ...waiting, signal }), answered)
    await answer.body?.cancel()
    throw new SallyportError('unexpected_answer', 'The response is not from an upstream.', { status: answer.status })
  }

  /** Returns the service's refusal. Throws everything else: no response, or a response from something in between. */
  const refused = (error: unknown): SallyportError => {
    const isRefusal =
      error instanceof SallyportError && error.status !== undefined && error.code !== 'unexpected_answer'
    if (!isRefusal || onRefusal === 'throw') throw error
    return error
  }

  return async (input, init) => {
    const { first, signal, owner, redirect } = await readRequest(input, init)
    for (let hop = first, hops = 0; ; hops++) {
      const answered = { url: hop.url, method: hop.method, redirected: hops > 0 }
      const response = await send(hop, signal, answered).catch(refused)
      if (response instanceof SallyportError) {
        return typeof onRefusal === 'function' ? onRefusal(response) : refusalResponse(response, answered)
      }
      if (owner && response.body) signalOwners.set(response.body, owner)
      if (redirect === 'manual' || !isRedirect(response)) return response
      // A redirect's body is never read and may be endless: cancel it, whatever happens next.
      const leave = () => response.body?.cancel()
      try {
        if (redirect === 'error')
          throw new TypeError('The response is a redirect, and the call set redirect to "error".')
        const next = redirected(hop, response)
        if (!next) return response
        if (hops === mostRedirects) throw new TypeError(`More than ${mostRedirects} redirects.`)
        if (next.body instanceof ReadableStream)
          throw new TypeError('The response is a redirect, and a long stream can be sent only once.')
        onRedirect?.(next.url)
        hop = next
      } catch (error) {
        await leave()
        throw error
      }
      await leave()
    }
  }
}

/** Undefined if it is something else. */
async function heldReplyIn(answer: Response): Promise<HeldReply | undefined> {
  try {
    const reply = JSON.parse(await readBounded(answer, maxHeldReplyBytes)) as HeldReply
    return isHeld(reply) ? reply : undefined
  } catch {
    return undefined
  }
}
