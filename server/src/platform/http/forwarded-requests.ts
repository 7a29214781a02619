/**
 * Requests whose method, headers and body are passed on to another server. Nothing of them is a rule for this service: any
 * method and any media type are taken, and the route reads the body as it arrives.
 */
import { METHODS } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The request is passed on to another server. */
    isForwarded?: boolean
  }
}

/** Below it, a path names another server and a path there. */
export const forwardedPath = '/v4/proxy/'

/** CONNECT and TRACE are for proxies themselves. */
export const forwardedMethods = METHODS.filter((method) => /^(?!CONNECT$|TRACE$)[A-Z]+$/.test(method))

/** Register it after the parsers of all media types that routes of our own know. */
export function takeForwardedRequests(http: Http): void {
  const known = new Set(http.supportedMethods)
  for (const method of forwardedMethods) if (!known.has(method)) http.addHttpMethod(method, { hasBody: true })
  http.addContentTypeParser('*', (request, _payload, done) => {
    done(request.routeOptions.config.isForwarded ? null : new ServiceError('unsupported_media_type'))
  })
  http.addHook('preParsing', (request, _reply, _payload, done) => {
    // The framework would look for a parser of its type, or refuse a malformed one.
    if (request.routeOptions.config.isForwarded) request.headers = { 'content-type': 'application/octet-stream' }
    done()
  })
}

/** In lower case. Repeated headers are joined (RFC 9110 §5.3). */
export function headersOf({ rawHeaders }: IncomingMessage): Map<string, string> {
  const headers = new Map<string, string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase()
    const value = rawHeaders[index + 1] ?? ''
    const former = headers.get(name)
    // HTTP/2 has method, path and host among the headers.
    if (!name.startsWith(':')) headers.set(name, former === undefined ? value : `${former}, ${value}`)
  }
  return headers
}
