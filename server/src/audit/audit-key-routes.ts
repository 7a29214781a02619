import { AuditKeyReply } from '@sallyport/protocol/audit'
import type {} from '../authenticate.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Http } from '../platform/http/http.ts'
import type { AuditKeyStore } from './audit-key-store.ts'

interface KeyRouteNeeds {
  database: Database
  auditKeys: AuditKeyStore
  clock: Clock
}

export function auditKeyRoutes(http: Http, { database, auditKeys, clock }: KeyRouteNeeds): void {
  http.get(
    '/v4/audit/key',
    {
      config: { allow: 'anyone' },
      schema: {
        tags: ['Audit'],
        summary: 'Get the public key that verifies signed audit heads',
        description:
          'Every minute the service signs the head of the audit chain and writes it to its log; `sallyport-server ' +
          'audit verify` shows the newest. A head is one line, `sallyport-audit-head.v1.{chain}.{position}.{hash}.' +
          '{milliseconds}.{signature}`; the Ed25519 signature (base64url) covers the bytes before its dot. Store this ' +
          'key and heads where the service cannot change them: `audit verify --head` then shows whether the audit log ' +
          'was rolled back to an older state. The key does not change.',
        response: { 200: AuditKeyReply },
      },
    },
    async () => {
      const known = await auditKeys.find(database.queries)
      const { publicKey } = known ?? (await database.transaction((tx) => auditKeys.findOrMake(tx, clock())))
      const { x = '' } = publicKey.export({ format: 'jwk' })
      const jwk = { kty: 'OKP' as const, crv: 'Ed25519' as const, x }
      return { alg: 'EdDSA' as const, jwk, pem: publicKey.export({ type: 'spki', format: 'pem' }).toString() }
    },
  )
}
