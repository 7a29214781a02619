import type { Secret } from '../platform/secret.ts'
import type { ClientKey } from './client-key.ts'

/** A backend that speaks the legacy protocol: an identity that outlives its keys. */
export interface Client {
  clientUuid: string
  /** Grows with every rotation. */
  generation: number
  /** The active key: PEM, SPKI. */
  publicKey: string
  fingerprint: string
  /** What the client calls its key. */
  keyId: string | null
  /** Names of what it stores are kept as HMACs under this. */
  lookupKey: Secret
}

/** What a client says of itself. It carries no authority. */
export interface Registration {
  key: ClientKey
  keyId: string | null
  label: string | null
  metadata: Record<string, unknown>
}
