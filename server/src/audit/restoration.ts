/**
 * A restore leaves out what came after its backup. It puts that on record: until when the backup goes, and which chains
 * the replaced database had beyond it. The record explains heads of that time, which would otherwise prove tampering. It
 * is on a chain itself, so only the service's key can write one, and verification always shows it: a database that is
 * set back without it stays a finding, and one that is set back with it is plain to see.
 */
import { hashText } from './audit-hash.ts'
import type { Head, RecordRow } from './audit-hash.ts'
import { nameOf, parseHead } from './chain-heads.ts'
import type { SignedHead } from './chain-heads.ts'

export const restoredEvent = 'database.restored'

export interface Restoration {
  auditId: string
  at: Date
  /** The time of the newest record in the backup. */
  backupUntil: Date
  /** The chains beyond the backup, as the replaced database had them. Undefined if it could not be read. */
  lost: Head[] | undefined
  lostRecords: number | undefined
}

/** Instances may sign and write at the same moment. */
const slackMs = 10_000

export function restorationDetail({ backupUntil, lost, lostRecords }: Omit<Restoration, 'auditId' | 'at'>) {
  return {
    backup_until: backupUntil.toISOString(),
    lost_heads: lost ? lost.map(nameOf) : null,
    lost_records: lostRecords ?? null,
  }
}

export function readRestoration({ audit_id: auditId, event, at, detail }: RecordRow): Restoration | undefined {
  if (event !== restoredEvent) return undefined
  const read = JSON.parse(detail) as Partial<Record<string, unknown>>
  const { backup_until: until, lost_heads: heads, lost_records: count } = read
  return {
    auditId,
    at: new Date(at),
    backupUntil: new Date(String(until)),
    lost: Array.isArray(heads) ? heads.flatMap((name) => parseHead(String(name)) ?? []) : undefined,
    lostRecords: typeof count === 'number' ? count : undefined,
  }
}

/**
 * Whether this restore left out the records up to that head: they were written after the backup and before the restore,
 * and the replaced database still had them. Had it lost them too, it was set back before.
 */
export function explains({ at, backupUntil, lost }: Restoration, head: SignedHead): boolean {
  if (head.at > at.getTime() || head.at < backupUntil.getTime() - slackMs) return false
  if (lost === undefined) return true
  const known = lost.find(({ chain }) => chain === head.chain)
  if (!known || known.position < head.position) return false
  return known.position > head.position || hashText(known.hash) === hashText(head.hash)
}
