import type { Generated } from 'kysely'

/** The tables and their columns. Each store declares its room's tables into this interface. */
export interface Tables {
  /** `runs_from`: a version that knows the migrations up to this one can run on the result. Null: up to this row's own. */
  migrations: { number: number; name: string; applied_at: number; runs_from: number | null }
  rate_limits: { key: string; full_at: number }
  vault_keys: {
    key_id: string
    /** 1 for the key that encrypts, null for those that only decrypt. The column is unique, so only one row has 1. */
    active: 1 | null
    master_key_id: string
    sealed_key: Uint8Array
    created_at: number
  }
}

/** An ascending number that the database assigns. */
export type Sequence = Generated<number>
