/** The HTTP server for all routes: limits, timeouts, error responses, body parsing. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { LogController } from 'fastify'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { Clock } from '../clock.ts'
import type { PlatformConfig } from '../config/platform-settings.ts'
import { newId } from '../ids.ts'
import type { Log } from '../operations/log.ts'
import { boundBodiesInFlight } from './bodies-in-flight.ts'
import { allowCorsOrigins } from './cors.ts'
import { forwardedPath, takeForwardedRequests } from './forwarded-requests.ts'
import { answerUnknownRoutes } from './unknown-routes.ts'
import { replyToBrokenRequest, replyWithError } from './error-replies.ts'
import { readJsonBodies } from './json-bodies.ts'
import { createHttpListener, maxHeaderBytes } from './listener.ts'
import { checkRequests } from './request-checks.ts'
import { logResponses } from './response-log.ts'
import { setSecurityHeaders } from './security-headers.ts'
import { serializerCompiler } from './serialization.ts'
import { closeConnectionsOnStop } from './closing-connections.ts'
import { tunnelledOf, tunnelledRoute } from './tunnelled.ts'
import { validatorCompiler } from './validation.ts'

export type Http = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

interface HttpNeeds {
  config: PlatformConfig
  clock: Clock
  log: Log
}

/** Replaces paths that can't be decoded. It leads to a 404 through all hooks; Fastify's router would bypass them. */
const nowhere = '/%EF%BF%BD'

export async function createHttp({ config, clock, log }: HttpNeeds): Promise<Http> {
  // Log lines carry the request id themselves, so no child logger is created for each request.
  const logger: FastifyBaseLogger = Object.assign(Object.create(log) as Log, { child: () => log })
  const http: Http = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newId('req', clock()),
    requestIdHeader: false,
    trustProxy: config.trustProxy ?? false,
    bodyLimit: config.bodyBytes,
    // Schemas limit path parameters; the router's own limit would bypass our hooks.
    routerOptions: { maxParamLength: maxHeaderBytes },
    rewriteUrl: (request) => (tunnelledOf(request) ? tunnelledRoute : readableUrl(request)),
    // At a stop, idle connections are closed and calls in flight may finish.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    serverFactory: (listener) => createHttpListener(config, log, listener, config),
    clientErrorHandler: (error, socket) => {
      replyToBrokenRequest(error, socket, newId('req', clock()))
    },
    frameworkErrors: replyWithError,
  }).withTypeProvider<TypeBoxTypeProvider>()
  http.server.on('connect', (_request, socket) => {
    replyToBrokenRequest(new Error('CONNECT is for proxies'), socket, newId('req', clock()))
  })
  http.setValidatorCompiler(validatorCompiler)
  http.setSerializerCompiler(await serializerCompiler())
  http.setErrorHandler(replyWithError)
  http.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  closeConnectionsOnStop(http)
  logResponses(http, log)
  checkRequests(http, config.baseUrl)
  allowCorsOrigins(http, config.corsOrigins)
  boundBodiesInFlight(http, config)
  readJsonBodies(http)
  takeForwardedRequests(http)
  answerUnknownRoutes(http)
  setSecurityHeaders(http, config.baseUrl)
  return http
}

function readableUrl({ url = '/' }: IncomingMessage): string {
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '')
    return url
  } catch {
    // It is not ours to read.
    return url.startsWith(forwardedPath) ? url.replaceAll('%', '%25') : nowhere
  }
}
