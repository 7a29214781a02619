/** All that is public. */
export { createLegacyClient } from './legacy-v1/client.ts'
export type { AboutKey, Item, LegacyClient, LegacyClientOptions, ReadItem, ReadResult } from './legacy-v1/client.ts'
export { exportClientKey, generateClientKey, importClientKey } from './legacy-v1/keys.ts'
export type { ClientKey } from './legacy-v1/keys.ts'
export { LegacyError } from './legacy-v1/errors.ts'
