import { Type, type Static } from 'typebox'

/** Where tools reach the gateway. */
export const GatewayReply = Type.Object({
  host: Type.String({ description: 'Name or address' }),
  port: Type.Integer(),
  tls: Type.Boolean({
    description: 'Whether the gateway itself is reached by https, with the certificate of this service',
  }),
  fingerprint: Type.String({
    description: 'SHA-256 of the certificate, one of those in ca.pem, that signs what the gateway shows now',
  }),
})
export type GatewayReply = Static<typeof GatewayReply>
