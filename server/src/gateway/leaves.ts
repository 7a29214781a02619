/**
 * The certificates that the gateway shows as the hosts that it opens. Every process has one key for all of them, in memory
 * only. They are issued when first needed and cached.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { Clock } from '../platform/clock.ts'
import type { ServerCertificate } from '../platform/http/tunnels/tunnel-servers.ts'
import { backdatedMs } from './authority.ts'
import { leafCertificate } from './certificate.ts'
import type { AuthorityKeeper } from './keep-authority.ts'

const lifetimeMs = 86_400_000
/** A tunnel may stay open, and a client may check the certificate again. */
const renewedBeforeMs = lifetimeMs / 2
const mostCached = 1_000

export interface Leaves {
  isCached: (host: string) => boolean
  of: (host: string) => Promise<ServerCertificate>
}

interface Leaf {
  certificate: ServerCertificate
  until: number
}

export function createLeaves({ keeper, clock }: { keeper: Pick<AuthorityKeeper, 'signer'>; clock: Clock }): Leaves {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  /** The least recently used first. */
  const cached = new Map<string, Leaf>()

  const find = (host: string): Leaf | undefined => {
    const known = cached.get(host)
    return known && known.until - clock().getTime() > renewedBeforeMs ? known : undefined
  }
  const keep = (host: string, leaf: Leaf) => {
    cached.delete(host)
    cached.set(host, leaf)
    const [oldest] = cached.keys()
    if (cached.size > mostCached && oldest !== undefined) cached.delete(oldest)
  }

  return {
    isCached: (host) => find(host) !== undefined,
    of: async (host) => {
      const known = find(host)
      if (known) {
        keep(host, known)
        return known.certificate
      }
      const issuer = await keeper.signer()
      const now = clock().getTime()
      const until = Math.min(now + lifetimeMs, issuer.notAfter.getTime())
      const dates = { notBefore: new Date(now - backdatedMs), notAfter: new Date(until) }
      const certificate = { key, cert: leafCertificate(issuer, host, publicKey, dates) }
      keep(host, { certificate, until })
      return certificate
    },
  }
}
