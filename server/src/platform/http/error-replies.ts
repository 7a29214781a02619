/** The only place where errors become HTTP responses. The error code decides what the caller gets. */
import { STATUS_CODES } from 'node:http'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Duplex } from 'node:stream'
import { errorKinds } from '@sallyport/protocol/errors'
import type { ErrorCode } from '@sallyport/protocol/errors'
import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { Pointer } from 'typebox/value'
import { Busy } from '../limits/semaphore.ts'
import { isUnavailable } from '../database/failures.ts'
import { ServiceError } from '../errors.ts'
import { writeError } from './error-formats.ts'
import type { ErrorFormat } from './error-formats.ts'
import { describeFault } from './describe-fault.ts'
import { answerThenClose, answerThenDrain, readRestOf } from './closing-connections.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How the route's errors are written. Default: as all errors of the service. */
    errorFormat?: (request: FastifyRequest) => ErrorFormat
  }
  interface FastifyRequest {
    /** The error that the call was answered with, for the log. */
    failure?: ServiceError
    /** The rest of the body is not read. */
    isBodyCutShort?: boolean
    /** Reads what is left of a body that the route reads itself. */
    readRest?: () => Promise<unknown>
  }
}

export function replyWithError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const failure = toServiceError(error ?? new Error(`${String(error)} was thrown`))
  const { code, retryAfterSeconds } = failure
  request.failure = failure
  const { status } = errorKinds[code]
  const { config } = request.routeOptions
  reply.headers({ 'x-sallyport-error': config.isForwarded ? code : '1', 'x-request-id': request.id })
  // git sends a password only if it is asked for one.
  if (status === 401)
    reply.header('www-authenticate', config.isForwarded ? 'Basic realm="Sallyport", Bearer' : 'Bearer')
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  const answer = errorBody(failure, request.id)
  const { type, body: text } = config.errorFormat
    ? writeError(config.errorFormat(request), answer.error)
    : { type: 'application/json; charset=utf-8', body: JSON.stringify(answer) }
  reply.code(status).type(type)
  const body = Buffer.from(text)
  if (code !== 'body_too_large' && !request.isBodyCutShort) {
    void reply.send(body)
    return
  }
  reply.header('content-length', body.length)
  void reply.send(cutShort(request, reply, [body]))
}

/** Answers a request whose body was not read to its end. The unread rest would be parsed as the next request. */
export function cutShort(
  request: FastifyRequest,
  reply: FastifyReply,
  body: Iterable<Buffer> | AsyncIterable<Buffer>,
): Readable {
  reply.header('connection', 'close')
  const readRest = request.readRest ?? (() => readRestOf(request.raw))
  return Readable.from(answerThenDrain(body, readRest), { objectMode: false })
}

/** The response that is being sent; described in Node's documentation of `clientError`. */
type HttpSocket = Duplex & { _httpMessage?: ServerResponse | null }

/** For requests that Node could not parse: it passes only the socket. */
export function replyToBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex, requestId: string): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  // This request was already answered with an error.
  if ((socket as HttpSocket)._httpMessage?.headersSent) {
    answerThenClose('', socket)
    return
  }
  const codes: Record<string, ErrorCode> = {
    HPE_HEADER_OVERFLOW: 'headers_too_large',
    ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  }
  const failure = new ServiceError(codes[error.code ?? ''] ?? 'invalid_http')
  const { status } = errorKinds[failure.code]
  const body = JSON.stringify(errorBody(failure, requestId))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'x-sallyport-error: 1',
    'connection: close',
  ]
  answerThenClose(`${head.join('\r\n')}\r\n\r\n${body}`, socket)
}

export function errorBody({ code, field, publicMessage, extra }: ServiceError, requestId: string) {
  const { message, retryable } = errorKinds[code]
  return {
    error: {
      ...extra,
      code,
      message: publicMessage ?? message,
      retryable,
      ...(field === undefined ? {} : { field }),
      request_id: requestId,
    },
  }
}

const frameworkCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_http',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: 'unsupported_media_type',
  FST_STATIC_FORBIDDEN_PATH: 'not_found',
  ENAMETOOLONG: 'not_found',
}

export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (error instanceof Busy) return new ServiceError('busy', { cause: error, retryAfterSeconds: 2 })
  if (isUnavailable(error)) return new ServiceError('not_ready', { cause: error, retryAfterSeconds: 1 })
  const { validation, validationContext, code } = error as Partial<FastifyError>
  // A path parameter that can't be an id names nothing.
  if (validation?.[0] && validationContext === 'params') return new ServiceError('not_found', { cause: error })
  if (validation?.[0]) return fromValidation(validation[0], validation, validationContext ?? 'body')
  const known = frameworkCodes[code ?? '']
  return known === undefined
    ? new ServiceError('internal', { cause: error })
    : new ServiceError(known, { cause: error })
}

function fromValidation(
  first: FastifySchemaValidationError,
  found: FastifySchemaValidationError[],
  context: string,
): ServiceError {
  const { keyword, instancePath, schemaPath, params } = first
  const path = Pointer.Indices(instancePath)
  const inner = (names: unknown) => [...path, String((names as string[])[0])].join('.')
  if (keyword === 'required') {
    const field = inner(params['requiredProperties'])
    return new ServiceError('missing_field', { field, message: `"${field}" is missing. Add it.` })
  }
  const field = path.length > 0 ? path.join('.') : context
  // The member's name is the caller's text, so the log gets the schema path instead.
  const detail = `${context}: ${keyword} at ${schemaPath}`
  return new ServiceError('invalid_field', { field, message: `"${clip(field)}" ${describeFault(found)}.`, detail })
}

/** Shortens member names, which the caller chose. */
function clip(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name
}
