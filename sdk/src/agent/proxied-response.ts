/**
 * Turns the service's response into the upstream's: original header names, the upstream's URL, no headers of the
 * service.
 */
import type { SallyportError } from '../errors.ts'
import type { ErrorBody, HeldReply, ProxyReply } from '../wire.ts'

export interface Answered {
  url: string
  method: string
  redirected: boolean
}

/** Headers added by the service or by the connection to it. */
const ours = new Set([
  'connection',
  'content-security-policy',
  'keep-alive',
  'transfer-encoding',
  'x-content-type-options',
  'x-request-id',
  'x-sallyport-status',
  'x-sallyport-upstream',
])
const prefix = 'x-sallyport-'
/** The service's headers that callers may want to see. */
const told = new Set(['x-sallyport-audit-id', 'x-sallyport-dropped-headers'])
/** Distinguishes a refusal by the service from a response of the upstream. */
const refusalMark = 'x-sallyport-error'
const withoutBody = new Set([204, 205, 304])

export function toResponse(answer: Response, answered: Answered): Response {
  const status = Number(answer.headers.get('x-sallyport-status') ?? answer.status)
  return responseOf(status, answer.statusText, upstreamHeaders(answer.headers), answer.body, answered)
}

/** The response of a call that had to be approved. It was buffered, and its JSON parsed. */
export function envelopeResponse(reply: ProxyReply, answered: Answered): Response {
  const { status, headers: given, body, body_encoding: encoding, audit_id: auditId, dropped_headers: dropped } = reply
  const headers = new Headers()
  for (const [name, values] of Object.entries(given)) {
    if (name.startsWith(prefix)) continue
    for (const value of [values].flat()) headers.append(name, value)
  }
  headers.set('x-sallyport-audit-id', auditId)
  if (dropped.length > 0) headers.set('x-sallyport-dropped-headers', dropped.join(', '))
  const text = encoding === 'json' ? JSON.stringify(body) : String(body)
  const content = encoding === 'base64' ? Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)) : text
  // Made from bytes: a Response made from a string would get a content-type of its own.
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  return responseOf(status, '', headers, bytes, answered)
}

function responseOf(
  status: number,
  statusText: string,
  headers: Headers,
  body: ReadableStream | Uint8Array<ArrayBuffer> | null,
  answered: Answered,
): Response {
  const hasBody = !withoutBody.has(status) && answered.method !== 'HEAD'
  // `Response` rejects statuses outside of 200 to 599. Set such a status afterwards instead of losing the response.
  const isKnown = status >= 200 && status <= 599
  const response = new Response(hasBody ? body : null, { status: isKnown ? status : 200, statusText, headers })
  return asAnswered(response, { ...answered, status })
}

/** The service's refusal as a `Response`, marked as not coming from the upstream. */
export function refusalResponse(refusal: SallyportError, answered: Answered): Response {
  const { code, message, retryable, requestId = '', field, accessRequest, retryAfterSeconds, call } = refusal
  const status = refusal.status ?? 500
  const error: ErrorBody['error'] & Partial<Omit<HeldReply, 'status'>> = {
    code: code as ErrorBody['error']['code'],
    message,
    retryable,
    request_id: requestId,
    ...(field !== undefined && { field }),
    ...(accessRequest && { access_request: accessRequest }),
    ...(call && { call_id: call.callId, approval_url: call.approvalUrl, expires_at: call.expiresAt }),
  }
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    [refusalMark]: code.replaceAll(/\W/g, '_'),
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    // Several vendors' libraries retry a 409 or 5xx unless this header is set. Another try of a call that was approved
    // would ask the person again.
    ...((!retryable || call) && { 'x-should-retry': 'false' }),
  }
  const body = answered.method === 'HEAD' ? null : JSON.stringify({ error })
  return asAnswered(new Response(body, { status, headers }), { ...answered, status })
}

function upstreamHeaders(given: Headers): Headers {
  const headers = new Headers()
  for (const [name, value] of given) {
    if (ours.has(name)) continue
    const own = name.startsWith(prefix) && !told.has(name) ? name.slice(prefix.length) : name
    // An upstream can't forge the service's own headers.
    if (own.startsWith(prefix) && !told.has(own)) continue
    headers.append(own, value)
  }
  return headers
}

/** Sets the properties that the constructor does not accept. */
function asAnswered(response: Response, answered: Answered & { status: number }): Response {
  const { url, redirected, status } = answered
  const clone = response.clone.bind(response)
  return Object.defineProperties(response, {
    url: { value: url },
    redirected: { value: redirected },
    type: { value: 'basic' },
    status: { value: status },
    ok: { value: status >= 200 && status <= 299 },
    clone: { value: () => asAnswered(clone(), answered) },
  })
}
