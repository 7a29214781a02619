import { listing } from './listing.ts'
import type { Listing } from './listing.ts'
import { segment } from './transport.ts'
import type { CallOptions, Transport } from './transport.ts'
import type {
  AuditKeyReply,
  AuditPage,
  AuditRecord,
  AuditSeriesQuery,
  AuditSeriesReply,
  ListAuditQuery,
} from './wire.ts'

/** What is on record: of an agent's own, concerning a user, or all of it for an admin. */
export interface Audit {
  /** Newest first. A page may hold fewer records than asked for, even none, before the end. */
  list: (query?: ListAuditQuery, options?: CallOptions) => Listing<AuditPage, AuditRecord>
  get: (auditId: string, options?: CallOptions) => Promise<AuditRecord>
  /** How many calls there were in each part of a time, by outcome. Not for agents. */
  series: (query?: AuditSeriesQuery, options?: CallOptions) => Promise<AuditSeriesReply>
  /** All records that match as a stream of text, from the query's `cursor` on. */
  export: (
    form: 'ndjson' | 'csv',
    query?: Omit<ListAuditQuery, 'limit'>,
    options?: CallOptions,
  ) => Promise<ReadableStream<Uint8Array>>
  /** The public key that signed heads of the record are checked with. */
  key: (options?: CallOptions) => Promise<AuditKeyReply>
}

const forms = { ndjson: 'application/x-ndjson', csv: 'text/csv' }

export function auditOf(transport: Transport): Audit {
  return {
    list: (query, options) => listing<AuditPage, 'records'>(transport, '/v4/audit', 'records', query, options),
    get: (id, options) => transport.json({ method: 'GET', path: `/v4/audit/${segment(id)}` }, options),
    series: (query, options) => transport.json({ method: 'GET', path: '/v4/audit/series', query }, options),
    export: async (form, query, options) => {
      const headers = { accept: forms[form] }
      const { body } = await transport.open({ method: 'GET', path: '/v4/audit', query, headers }, options)
      return (body ?? new Blob([]).stream()) as ReadableStream<Uint8Array>
    },
    key: (options) => transport.json({ method: 'GET', path: '/v4/audit/key' }, options),
  }
}
