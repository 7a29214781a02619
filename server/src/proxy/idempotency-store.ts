import type { Queries } from '../platform/database/database.ts'
import type { Secret } from '../platform/secret.ts'
import type { Vault } from '../platform/vault/vault.ts'
import type { KeyedCall } from './idempotency.ts'

export type Claimed = { kind: 'new' } | { kind: 'stored'; answer: Secret }

export interface Idempotency {
  /**
   * In the transaction of the attempt: new, or the outcome that is stored. Throws `idempotency_conflict`, `conflict`
   * (in flight), `outcome_unknown`, and `rate_limited` once an agent has stored all that it may.
   */
  claim: (tx: Queries, call: KeyedCall, now: Date) => Promise<Claimed>
  /** Before the answer is released. Undefined for one that is not kept: too large, or streamed. */
  conclude: (tx: Queries, call: KeyedCall, answer: Buffer | undefined, now: Date) => Promise<void>
  /** For a call that certainly never reached the upstream: its key is free again. */
  forget: (tx: Queries, call: KeyedCall) => Promise<void>
  /** Once a call that was claimed is over, however it ended: without an outcome it counts as unknown from now on. */
  ended: (call: Pick<KeyedCall, 'auditId'>) => void
  dropExpired: (tx: Queries, now: Date) => Promise<void>
}

export function createIdempotency(_vault: Vault): Idempotency {
  return {
    claim: () => Promise.resolve({ kind: 'new' }),
    conclude: () => Promise.resolve(),
    forget: () => Promise.resolve(),
    ended: () => undefined,
    dropExpired: () => Promise.resolve(),
  }
}
