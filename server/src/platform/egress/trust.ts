import { createSecureContext, getCACertificates } from 'node:tls'
import type { SecureContext } from 'node:tls'

/** Which certificate authorities are trusted. Created when first needed: reading all root certificates takes a while. */
export interface Trust {
  usual: () => SecureContext
  /** With the operator's own authorities, for destinations that the operator listed. */
  withExtra: () => SecureContext
}

const minVersion = 'TLSv1.2'

/** By the operator's PEM file, so that each is parsed only once per process. */
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
