import { createSecureContext, getCACertificates } from 'node:tls'
import type { SecureContext } from 'node:tls'

/** Whose certificates count. Made once, and only when needed: reading all roots takes a while. */
export interface Trust {
  usual: () => SecureContext
  /** With the operator's own authorities, for what the operator listed. */
  withExtra: () => SecureContext
}

export function createTrust(ca: string | undefined): Trust {
  const minVersion = 'TLSv1.2'
  let usual: SecureContext | undefined
  let extra: SecureContext | undefined
  const trust: Trust = {
    usual: () => (usual ??= createSecureContext({ minVersion })),
    withExtra: () => {
      if (ca === undefined) return trust.usual()
      return (extra ??= createSecureContext({ minVersion, ca: [...getCACertificates('default'), ca] }))
    },
  }
  return trust
}
