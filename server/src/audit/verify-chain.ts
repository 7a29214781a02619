/**
 * Verifies one chain from its beginning, or from its stub, and stops at the first record that was tampered with. It
 * trusts nothing but the key. While the service is running there may be more records than expected, never fewer.
 */
import type { Queries } from '../platform/database/database.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import type { AuditChainStore, LinkedRow } from './audit-chain-store.ts'
import { emptyChain, hashText, linked, macOf } from './audit-hash.ts'
import type { Head } from './audit-hash.ts'
import type { AuditKey } from './audit-key-store.ts'
import { isSignedBy } from './chain-heads.ts'
import type { SignedHead } from './chain-heads.ts'

export interface Finding {
  chain: string
  /** Of the first record that was changed or is missing. */
  position: number
  auditId: string | undefined
  words: string
}

/** A position that the chain must have reached, and how that is known. */
export interface Expected extends Head {
  says: string
}

export interface WalkNeeds {
  queries: Queries
  chains: AuditChainStore
  key: AuditKey
  pageSize: number
  /** Called with records that are as the service wrote them. */
  onRecords: (rows: readonly LinkedRow[]) => void
}

/** Undefined if nothing is wrong. */
export async function verifyChain(
  needs: WalkNeeds,
  chain: string,
  expected: readonly Expected[],
): Promise<Finding | undefined> {
  const { queries, chains, key, pageSize, onRecords } = needs
  let head = emptyChain(chain)
  let isSealed = true
  let last: LinkedRow | undefined
  const finding = findingIn.bind(null, chain)

  /** Skips to the stub, if there is one after the current position. */
  const skip = async (): Promise<Finding | boolean> => {
    const stub = await chains.findStub(queries, chain)
    if (!stub || stub.position <= head.position) return false
    if (!isSignedBy(key.publicKey, 'stub', stub)) {
      return finding(stub.position, 'the stub for removed records was not signed by this service')
    }
    head = { chain, position: stub.position, hash: stub.hash }
    return true
  }

  const skipped = await skip()
  if (typeof skipped === 'object') return skipped
  for (;;) {
    const rows = await chains.listAfter(queries, chain, head.position, pageSize)
    const [first] = rows
    if (first && first.position !== head.position + 1) {
      // Retention may have deleted records meanwhile.
      const moved = await skip()
      if (moved === true) continue
      if (typeof moved === 'object') return moved
    }
    const from = head.position + 1
    for (const row of rows) {
      const wrong = wrongWith(row, head, key)
      if (wrong !== undefined) {
        const missing = row.position !== head.position + 1
        return finding(head.position + 1, wrong, missing ? undefined : row)
      }
      head = { chain, position: row.position, hash: row.hash }
      isSealed = row.mac !== null
      last = row
    }
    onRecords(rows)
    const unlike = await findMismatch(needs, rows, from, expected)
    if (unlike) return unlike
    if (rows.length < pageSize) break
    await nextSlice()
  }
  const beyond = expected.filter(({ position }) => position > head.position).sort((a, b) => a.position - b.position)[0]
  if (beyond) {
    const count = beyond.position - head.position
    const words = `${count} or more records after this position were removed: ${beyond.says} one of them`
    return finding(head.position + 1, words)
  }
  if (!isSealed)
    return finding(head.position, 'records that the service wrote after it in the same commit were removed', last)
  return undefined
}

/** Why a record can't be the one that we wrote after that head. Undefined if it is. */
export function wrongWith(row: LinkedRow, head: Head, key: AuditKey): string | undefined {
  if (row.position !== head.position + 1)
    return `it was removed, and possibly others: the next record is ${row.position}`
  const expected = linked(head, row)
  if (!isSame(expected.hash, row.hash)) return 'it was changed or replaced, or does not follow the previous record'
  if (row.mac && !isSame(row.mac, macOf(key.macKey, expected))) return 'it was not written by this service'
  return undefined
}

/** Compares the records with signed heads and with heads that other chains name. */
async function findMismatch(
  { queries, chains, key }: WalkNeeds,
  rows: readonly LinkedRow[],
  from: number,
  expected: readonly Expected[],
): Promise<Finding | undefined> {
  const last = rows.at(-1)
  if (!last) return undefined
  const { chain } = last
  const signed = await chains.listSigned(queries, chain, from, last.position)
  const finding = (position: number, words: string) => findingIn(chain, position, words, rows[position - from])
  if (from === 1 && signed[0]?.position !== 1) return finding(1, 'the head that was signed with it is missing')
  const forged = signed.find((head) => !isSignedBy(key.publicKey, 'head', head))
  if (forged) return finding(forged.position, 'the head signed here was not signed by this service')
  const all = [...signed.map(asExpected), ...expected].filter(({ position }) => position >= from)
  const unlike = all.find(({ position, hash }) => {
    const row = rows[position - from]
    return row !== undefined && !isSame(row.hash, hash)
  })
  if (!unlike) return undefined
  return finding(unlike.position, `it, or a record before it, was rewritten: it is not the record that ${unlike.says}`)
}

function findingIn(chain: string, position: number, words: string, row?: LinkedRow): Finding {
  return { chain, position, auditId: row?.audit_id, words }
}

export function asExpected(head: SignedHead): Expected {
  return { ...head, says: `the head signed at ${new Date(head.at).toISOString()} refers to` }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return hashText(one) === hashText(other)
}
