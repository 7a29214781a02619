import type { AuditRecord } from '@sallyport/sdk'

/** The color of a record: whether the action succeeded. An error answer of the host is no refusal of ours. */
export function toneOf({ event, outcome, result }: AuditRecord): 'good' | 'calm' | 'theirs' | 'warn' | 'bad' {
  if (outcome === 'refused') return 'warn'
  if (outcome === 'failed') return 'bad'
  if (outcome === 'answered') return Number(result?.['status']) < 400 ? 'good' : 'theirs'
  if (event === 'connection.needs_reauth' || event === 'proxy.held') return 'warn'
  return 'calm'
}
