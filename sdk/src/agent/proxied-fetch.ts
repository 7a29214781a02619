/**
 * A `fetch` whose calls the service makes: same arguments, same answers, with the person's credential put in there.
 * Each redirect is a call of its own, so that the grant is asked about every place that a call goes to.
 */
import { SallyportError } from '../errors.ts'
import type { Transport } from '../transport.ts'
import type { ProxyBody } from '../wire.ts'
import { refusalResponse, toResponse } from './proxied-response.ts'
import { isRedirect, readRequest, redirected } from './proxied-request.ts'
import type { Hop } from './proxied-request.ts'

export interface FetchOptions {
  /**
   * How long one call may take, to the last byte of its answer: at most, and unless said otherwise, 300 000. With `null`
   * an answer may come for as long as it likes, but has to begin soon (the service's own limit, 30 seconds).
   */
  timeoutMs?: number | null | undefined
  /**
   * What becomes of a call that the service refuses or can't make. Unless said otherwise a `Response` with the
   * service's status, its error as JSON and `x-sallyport-error: <code>`, which a library reports like any error of the
   * API. `'throw'` throws the `SallyportError`; a function makes a `Response` of it.
   */
  onRefusal?: 'respond' | 'throw' | ((refusal: SallyportError) => Response) | undefined
  /** Called before a redirect is followed. What it throws ends the call, and nobody is called there. */
  onRedirect?: ((url: string) => void) | undefined
}

const longestMs = 300_000
const mostRedirects = 20
/** Under their own names some runtimes would act on them, and follow a redirect themselves. */
const headers = { 'x-sallyport-header-names': 'prefixed' }
/** Keeps the Request whose signal ends a body for as long as the body can still come. */
const signalOwners = new WeakMap<ReadableStream, Request>()

export function proxiedFetch(
  transport: Transport,
  grantId: string,
  { timeoutMs = longestMs, onRefusal = 'respond', onRedirect }: FetchOptions = {},
): typeof globalThis.fetch {
  const send = async (hop: Hop, signal: AbortSignal | undefined): Promise<Response> => {
    const body: ProxyBody = {
      grant_id: grantId,
      method: hop.method,
      url: hop.url,
      headers: Object.fromEntries(hop.headers),
      ...(hop.body && { body_base64: hop.body }),
      ...(timeoutMs !== null && { timeout_ms: timeoutMs }),
      stream: true,
    }
    const answer = await transport.open(
      { method: 'POST', path: '/v4/proxy', body, headers, rateWaitMs: timeoutMs ?? longestMs, showsRedirects: true },
      { signal, timeoutMs: (timeoutMs ?? longestMs) + 10_000 },
    )
    if (answer.headers.has('x-sallyport-upstream')) return answer
    await answer.body?.cancel()
    throw new SallyportError('unexpected_answer', 'The response is not from an upstream.', { status: answer.status })
  }

  /** What the service did not answer at all, or somebody before it answered, is thrown. */
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
      const answer = await send(hop, signal).catch(refused)
      if (answer instanceof SallyportError) {
        return typeof onRefusal === 'function' ? onRefusal(answer) : refusalResponse(answer, answered)
      }
      if (owner && answer.body) signalOwners.set(answer.body, owner)
      const response = toResponse(answer, answered)
      if (redirect === 'manual' || !isRedirect(response)) return response
      // Whatever becomes of the call: nobody reads this one, which may have no end.
      const leave = () => response.body?.cancel()
      try {
        if (redirect === 'error')
          throw new TypeError('The response is a redirect, and the call set redirect to "error".')
        const next = redirected(hop, response)
        if (!next) return response
        if (hops === mostRedirects) throw new TypeError(`More than ${mostRedirects} redirects.`)
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
