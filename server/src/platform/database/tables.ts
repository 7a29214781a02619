import type { Generated } from 'kysely'

/** The tables and their columns. Each store adds its own room's by declaring them into this interface. */
export interface Tables {
  migrations: { number: number; name: string; applied_at: number }
  rate_limits: { key: string; full_at: number }
  vault_keys: {
    key_id: string
    /** 1 for the key that seals, null for those that only open: the unique column admits one 1. */
    active: 1 | null
    master_key_id: string
    sealed_key: Uint8Array
    created_at: number
  }
}

/** A column that the database numbers by itself, upwards. */
export type Sequence = Generated<number>
