import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import { GatewayReply } from '@sallyport/protocol/gateway'
import { byteStreamOver } from '@sallyport/protocol/websocket-byte-stream'
import { Type } from 'typebox'
import type {} from '../authenticate.ts'
import { ServiceError } from '../platform/errors.ts'
import { headersOf } from '../platform/http/forwarded-requests.ts'
import type { Http } from '../platform/http/http.ts'
import { isUpgradable, upgrade } from '../platform/http/upgrades.ts'
import { answerHeaders, faultOf } from '../platform/websockets/handshake.ts'
import { fingerprintOf } from './authority.ts'
import type { AuthorityKeeper } from './keep-authority.ts'

interface GatewayRouteNeeds {
  keeper: AuthorityKeeper
  /** Where the gateway listens. Undefined: it is off. */
  address: () => Omit<GatewayReply, 'fingerprint'> | undefined
  /** Serves a connection as if it had come to the gateway's port. */
  take: (connection: Duplex) => void
}

const tags = ['Gateway']
const pemType = 'application/x-pem-file'

export function gatewayRoutes(http: Http, { keeper, address, take }: GatewayRouteNeeds): void {
  http.get(
    '/v4/gateway',
    {
      config: { allow: ['agent', 'tool'] },
      schema: {
        tags,
        summary: 'Get the address of the gateway, the https proxy that adds credentials to what tools send',
        response: { 200: GatewayReply },
      },
    },
    async () => {
      const where = address()
      if (!where) throw gatewayOff()
      return { ...where, fingerprint: fingerprintOf(await keeper.signer()) }
    },
  )

  http.get(
    '/v4/gateway/tunnel',
    {
      config: { allow: ['tool'] },
      // Its answer is a connection, which the reference has no words for. docs/operating.md describes it.
      schema: { hide: true },
    },
    async (request, reply): Promise<void> => {
      if (!address()) throw gatewayOff()
      const headers = headersOf(request.raw)
      const fault = isUpgradable(request.raw) ? faultOf(headers) : 'Send the handshake of a WebSocket.'
      if (fault !== undefined) throw new ServiceError('invalid_http', { message: fault })
      await upgrade(reply, answerHeaders(headers.get('sec-websocket-key') ?? '', []), async (socket) => {
        const connection = byteStreamOver(socket, { isClient: false })
        take(Object.assign(connection, { remoteAddress: request.ip }))
        await finished(connection).catch(() => undefined)
      })
    },
  )

  http.get(
    '/v4/gateway/ca.pem',
    {
      config: { allow: 'anyone' },
      schema: {
        tags,
        summary: 'Get the certificates that a tool has to trust at the gateway, as PEM',
        response: {
          200: { description: 'The certificates', content: { [pemType]: { schema: Type.String() } } },
        },
      },
    },
    async (_request, reply) => {
      if (!address()) throw gatewayOff()
      const all = await keeper.current()
      const pem = all.map(({ certificate }) => certificate).join('')
      return reply.header('cache-control', 'no-cache').type(pemType).send(pem)
    },
  )
}

function gatewayOff(): ServiceError {
  const message = 'This service has no gateway: SALLYPORT_GATEWAY_PORT is off, or another process uses the port.'
  return new ServiceError('not_found', { message })
}
