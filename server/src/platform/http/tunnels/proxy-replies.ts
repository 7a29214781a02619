/** Refusals of the gateway itself: of a CONNECT on a bare socket, and of a request in a tunnel. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Duplex } from 'node:stream'
import { errorKinds } from '@sallyport/protocol/errors'
import type { ServiceError } from '../../errors.ts'
import { answerThenClose, answerThenDrain, readRestOf } from '../closing-connections.ts'
import { writeError } from '../error-formats.ts'
import { errorBody } from '../error-replies.ts'

/** Many tools show nothing but the reason phrase, so it is the error's sentence. */
export function refuseTunnel(socket: Duplex, error: ServiceError, requestId: string): void {
  const { status, headers, body, message } = refusal(error, requestId, { isByProxy: true })
  const reason = message.replace(/[^\x20-\x7e]/g, '?')
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`)
  answerThenClose([`HTTP/1.1 ${status} ${reason}`, ...lines, 'connection: close', '', ''].join('\r\n') + body, socket)
}

export function refuseRequest(
  request: IncomingMessage,
  response: ServerResponse,
  error: ServiceError,
  requestId: string,
  options: { isByProxy: boolean },
): void {
  const { status, headers, body } = refusal(error, requestId, options)
  // A body that is not read would be taken for the next request.
  const isLast = request.httpVersionMajor === 1 && !request.complete
  response.writeHead(status, { ...headers, ...(isLast && { connection: 'close' }) })
  Readable.from(answerThenDrain([Buffer.from(body)], () => readRestOf(request))).pipe(response)
}

/** `isByProxy`: refused as a proxy, so a client without a credential is asked for that of the proxy (RFC 9110 §15.5.8). */
function refusal(error: ServiceError, requestId: string, { isByProxy }: { isByProxy: boolean }) {
  const { code, retryAfterSeconds } = error
  const isChallenge = isByProxy && code === 'unauthenticated'
  const { error: members } = errorBody(error, requestId)
  const { type, body } = writeError('tool', members)
  const headers: OutgoingHttpHeaders = {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'x-sallyport-error': code,
    'x-request-id': requestId,
  }
  if (isChallenge) headers['proxy-authenticate'] = 'Basic realm="Sallyport"'
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  return { status: isChallenge ? 407 : errorKinds[code].status, headers, body, message: members.message }
}
