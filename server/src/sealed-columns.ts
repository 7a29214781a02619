import type { SealedColumn } from './platform/vault/vault.ts'
import { sandboxToken } from './sandbox/sandbox-store.ts'

/** Every column that holds a sealed value: what `keys rotate` has to seal anew. */
export const sealedColumns: readonly SealedColumn[] = [sandboxToken]
