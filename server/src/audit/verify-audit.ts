/** Verifies the audit log: every chain, every signed head, and the heads that chains name of each other. */
import { inBatches } from '../platform/database/batches.ts'
import type { Database } from '../platform/database/database.ts'
import type { AuditChainStore, LinkedRow, OutsideRecord } from './audit-chain-store.ts'
import type { Head } from './audit-hash.ts'
import type { AuditKey } from './audit-key-store.ts'
import { isSignedBy, namedHeads, namedUnchained } from './chain-heads.ts'
import type { SignedHead } from './chain-heads.ts'
import { asExpected, verifyChain } from './verify-chain.ts'
import type { Expected, Finding } from './verify-chain.ts'
import { explains, readRestoration } from './restoration.ts'
import type { Restoration } from './restoration.ts'

export interface VerifyNeeds {
  database: Database
  chains: AuditChainStore
  key: AuditKey
  /** Called from time to time. */
  onProgress: (checked: number, total: number) => void
  pageSize?: number
}

export interface Verdict {
  findings: Finding[]
  chains: number
  records: number
  /** Records from before there were chains: nothing protects them. */
  unchained: number
  /** Records deleted by retention. */
  removed: number
  /** The last signed head of each chain. */
  signed: SignedHead[]
  /** Restores on record, oldest first. */
  restorations: Restoration[]
  /** How many of the kept heads lie in what a restore left out. */
  explained: number
}

const maxShown = 20

/**
 * `kept` are heads that were kept outside of the service: only they reveal that a whole older database was restored.
 */
export async function verifyAudit(needs: VerifyNeeds, kept: readonly SignedHead[] = []): Promise<Verdict> {
  const { database, chains: store, key, onProgress, pageSize = 1000 } = needs
  const { queries } = database
  const findings: Finding[] = []
  // The expected heads are read first: the chains may grow meanwhile.
  const signed = await store.listLastSigned(queries)
  const stubs = await store.listStubs(queries)
  const starts = await store.listStarts(queries)
  const heads = await store.listHeads(queries)
  const expected = new Map<string, Expected[]>()
  const expect = (head: Expected) => expected.set(head.chain, [...(expected.get(head.chain) ?? []), head])
  signed.map(asExpected).forEach(expect)
  for (const head of starts.flatMap(namedHeads)) expect({ ...head, says: 'a later chain started after' })
  const reached = (name: string) => heads.find(({ chain }) => chain === name)?.position ?? removedOf(stubs, name)
  const missing: SignedHead[] = []
  for (const head of kept) {
    if (!isSignedBy(key.publicKey, 'head', head)) {
      findings.push({ ...head, auditId: undefined, words: 'the given head was not signed by this service' })
    } else if (head.position > reached(head.chain)) missing.push(head)
    else expect({ ...head, says: 'the given head refers to' })
  }
  const all = new Set([...expected.keys(), ...[...heads, ...stubs].map(({ chain }) => chain)])
  const total = heads.reduce((sum, { chain, position }) => sum + position - removedOf(stubs, chain), 0)
  let records = 0
  const restorations: Restoration[] = []
  const onRecords = (rows: readonly LinkedRow[]) => {
    const before = records
    records += rows.length
    restorations.push(...rows.flatMap((row) => readRestoration(row) ?? []))
    if (Math.floor(before / 100_000) < Math.floor(records / 100_000)) onProgress(records, Math.max(total, records))
  }
  const walk = { queries, chains: store, key, pageSize, onRecords }
  for (const chain of [...all].sort()) {
    const finding = await verifyChain(walk, chain, beyondStub(expected.get(chain) ?? [], removedOf(stubs, chain)))
    if (finding) findings.push(finding)
  }
  const unexplained = missing.filter((head) => !restorations.some((one) => explains(one, head)))
  for (const { chain, position } of unexplained) {
    if (findings.some((finding) => finding.chain === chain)) continue
    const last = reached(chain)
    const words = `${position - last} or more records after this position were removed: the given head refers to one of them`
    findings.push({ chain, position: last + 1, auditId: undefined, words })
  }
  const { outside, unchained } = await findUnchained(needs)
  for (const { chain, position, auditId } of outside) {
    const words = 'it is not reachable along the chain: the service did not write it there'
    findings.push({ chain, position: position ?? 0, auditId, words })
  }
  const expectedCount = expectedUnchained(starts, all.size)
  if (unchained > expectedCount) {
    const words = `${unchained - expectedCount} records are on no chain, although they were written after chains existed`
    findings.push({ chain: 'none', position: 0, auditId: undefined, words })
  }
  const removed = stubs.reduce((sum, { position }) => sum + position, 0)
  restorations.sort((one, other) => one.at.getTime() - other.at.getTime())
  const explained = missing.length - unexplained.length
  return { findings, chains: all.size, records, unchained, removed, signed, restorations, explained }
}

/** Reads the whole table once, in batches. */
async function findUnchained({ database: { queries }, chains, pageSize = 1000 }: VerifyNeeds) {
  const outside: OutsideRecord[] = []
  let unchained = 0
  let from = 0
  await inBatches(async () => {
    const range = await chains.nextRange(queries, from, pageSize)
    if (!range) return 'done'
    outside.push(...(await chains.listOutside(queries, range)).slice(0, maxShown - outside.length))
    unchained += await chains.countUnchained(queries, range)
    from = range.to
    return 'more'
  })
  return { outside, unchained }
}

/** Zero if retention has deleted the first records of all chains: it deletes those on no chain before. */
function expectedUnchained(starts: readonly string[], chains: number): number {
  if (starts.length === 0 && chains > 0) return 0
  return Math.min(...starts.map(namedUnchained).filter((count) => count !== undefined))
}

function removedOf(stubs: readonly Head[], chain: string): number {
  return stubs.find((stub) => stub.chain === chain)?.position ?? 0
}

/** Deleted records can't be checked, except the last one: the stub has its hash. */
function beyondStub(expected: readonly Expected[], position: number): Expected[] {
  return expected.filter((one) => one.position >= position)
}
