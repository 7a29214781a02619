import type { Secret } from '../platform/secret.ts'
import type { ClientKey } from './client-key.ts'

/** A backend that uses the legacy protocol. Its identity stays the same when its keys change. */
export interface Client {
  clientUuid: string
  /** Incremented with every key rotation. */
  generation: number
  /** The active key: PEM, SPKI. */
  publicKey: string
  fingerprint: string
  /** The client's own name for its key. */
  keyId: string | null
  /** The names of its items are stored as HMACs with this key. */
  lookupKey: Secret
}

/** What a client says about itself. It is not verified and grants nothing. */
export interface Registration {
  key: ClientKey
  keyId: string | null
  label: string | null
  metadata: Record<string, unknown>
}
