/** What a record holds besides its sentence, in plain words. What has no words here is only in the record itself. */
import type { AuditRecord } from '@sallyport/sdk'
import { count } from '../../ui/words.ts'
import { reasonOf } from './describe-call.ts'

export interface RecordFact {
  name: string
  /** May be text of others. */
  text: string
}

type Facts = Record<string, unknown>

const accessNames: Record<string, string> = { read: 'Reads', write: 'Changes', destructive: 'Deletes' }
const signInNames: Record<string, string> = { login_token: 'A sign-in link', github: 'GitHub', device: 'A device' }

/** In this order. */
const words: Record<string, { name: string; textOf: (value: unknown, all: Facts) => string | undefined }> = {
  method: { name: 'Method', textOf: plain },
  host: { name: 'Host', textOf: plain },
  path: { name: 'Path', textOf: plain },
  query: { name: 'Query parameters', textOf: (value) => (isEmpty(value) ? undefined : listed(value)) },
  access: { name: 'What it does', textOf: (value) => named(accessNames, value) },
  code: { name: 'Reason', textOf: (_value, all) => capital(reasonOf(all)) },
  status: { name: 'Answer status', textOf: (value) => (typeof value === 'number' ? String(value) : undefined) },
  bytes: { name: 'Answer size', textOf: sizeOf },
  redactions: {
    name: 'Credentials removed',
    textOf: (value) => (typeof value === 'number' && value > 0 ? value.toLocaleString('en') : undefined),
  },
  count: { name: 'Calls', textOf: (value) => (typeof value === 'number' ? count(value, 'call') : undefined) },
  scopes: { name: 'Permissions', textOf: listed },
  api_hosts: { name: 'Allowed hosts', textOf: listed },
  issuer: { name: 'Issuer', textOf: plain },
  via: { name: 'Signed in with', textOf: (value) => named(signInNames, value) },
}

export function factsOf({ detail, result }: Pick<AuditRecord, 'detail' | 'result'>): RecordFact[] {
  const all: Facts = { ...detail, ...result }
  return Object.entries(words).flatMap(([member, { name, textOf }]) => {
    const text = Object.hasOwn(all, member) ? textOf(all[member], all) : undefined
    return text === undefined || text === '' ? [] : [{ name, text }]
  })
}

function plain(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function listed(value: unknown): string | undefined {
  return Array.isArray(value) ? value.map(String).join(', ') : plain(value)
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function named(names: Record<string, string>, value: unknown): string | undefined {
  return typeof value === 'string' && Object.hasOwn(names, value) ? names[value] : plain(value)
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function sizeOf(bytes: unknown): string | undefined {
  if (typeof bytes !== 'number') return undefined
  if (bytes < 1_000) return count(bytes, 'byte')
  const [size, unit] = bytes < 1_000_000 ? [bytes / 1_000, 'kB'] : [bytes / 1_000_000, 'MB']
  return `${size.toLocaleString('en', { maximumFractionDigits: 1 })} ${unit}`
}

export function durationOf({ at, concluded_at: end }: Pick<AuditRecord, 'at' | 'concluded_at'>): string | undefined {
  if (end === null) return undefined
  const ms = Math.max(0, Date.parse(end) - Date.parse(at))
  if (ms < 1_000) return count(ms, 'millisecond')
  const seconds = ms / 1_000
  return seconds < 60
    ? `${seconds.toFixed(1)} seconds`
    : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}
