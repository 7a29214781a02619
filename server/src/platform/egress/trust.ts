import { createSecureContext, getCACertificates } from 'node:tls'
import type { SecureContext } from 'node:tls'

/** Whose certificates count. Made once, and only when needed: reading all roots takes a while. */
export interface Trust {
  usual: () => SecureContext
  /** With the operator's own authorities, for what the operator listed. */
  withExtra: () => SecureContext
}

const minVersion = 'TLSv1.2'

/** By the operator's authorities. Whoever is told of the same ones trusts the same: they are read once a process. */
const contexts = new Map<string, SecureContext>()

export function createTrust(ca: string | undefined): Trust {
  let usual: SecureContext | undefined
  const trust: Trust = {
    usual: () => (usual ??= createSecureContext({ minVersion })),
    withExtra: () => {
      if (ca === undefined) return trust.usual()
      const context = contexts.get(ca) ?? createSecureContext({ minVersion, ca: [...getCACertificates('default'), ca] })
      contexts.set(ca, context)
      return context
    },
  }
  return trust
}
