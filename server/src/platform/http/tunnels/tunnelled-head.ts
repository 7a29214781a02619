/**
 * Checks the head of a request in a tunnel, before anything else reads it. The tunnel was opened for one host: a request for
 * another is answered with 421. How a body is framed is checked for all requests, by Node and in request-checks.ts.
 */
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../errors.ts'
import { hostOf, isSameTarget, readTarget, splitAbsolute, valuesOf } from './tunnel-target.ts'
import type { TunnelTarget } from './tunnel-target.ts'

/** Throws, or returns the path and query, which are all that the target may differ in. */
export function checkTunnelledHead(request: IncomingMessage, target: TunnelTarget): string {
  const isHttp2 = request.httpVersionMajor === 2
  const named = isHttp2 ? [...valuesOf(request, ':authority'), ...valuesOf(request, 'host')] : valuesOf(request, 'host')
  const absolute = splitAbsolute(request.url ?? '')
  if (absolute) named.push(absolute.authority)
  if (named.length === 0) throw invalid('Send a Host header.')
  if (!isHttp2 && valuesOf(request, 'host').length !== 1) throw invalid('Send exactly one Host header.')
  const isElsewhere = named.some((one) => !isSameTarget(target, readTarget(one, 443)))
  const scheme = absolute?.scheme ?? valuesOf(request, ':scheme')[0] ?? 'https'
  if (isElsewhere || scheme !== 'https') {
    const message = `This tunnel was opened for https://${hostOf(target)}. Open another for another host.`
    throw new ServiceError('wrong_host', { message })
  }
  const path = absolute?.path ?? request.url ?? ''
  if (!path.startsWith('/')) throw invalid('The target of the request is not a path.')
  return path
}

/** What the request says that it is for, for the record. */
export function namedHost(request: IncomingMessage): string {
  return valuesOf(request, ':authority')[0] ?? valuesOf(request, 'host').join()
}

function invalid(message: string): ServiceError {
  return new ServiceError('invalid_http', { message })
}
