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

/** The audit log: an agent's own records, those about a user, or all records for an admin. */
export interface Audit {
  /** Newest first. A page may have fewer records than `limit`, even none, before the last page. */
  list: (query?: ListAuditQuery, options?: CallOptions) => Listing<AuditPage, AuditRecord>
  get: (auditId: string, options?: CallOptions) => Promise<AuditRecord>
  /** Counts calls over time, by outcome. Not available to agents. */
  series: (query?: AuditSeriesQuery, options?: CallOptions) => Promise<AuditSeriesReply>
  /** Streams all matching records as text, starting at the query's `cursor`. */
  export: (
    form: 'ndjson' | 'csv',
    query?: Omit<ListAuditQuery, 'limit'>,
    options?: CallOptions,
  ) => Promise<ReadableStream<Uint8Array>>
  /** The public key that verifies the signed heads of the audit log. */
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
