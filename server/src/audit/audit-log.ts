/**
 * Writes audit records, each in the transaction of the change that it describes: if the record can't be written, the
 * change does not happen. Each process start begins a hash chain. Records are linked right before the commit, one
 * transaction at a time, so that the lock is held as briefly as possible.
 */
import type { Clock } from '../platform/clock.ts'
import { beforeCommit } from '../platform/database/database.ts'
import type { CommitResult, Database, Queries } from '../platform/database/database.ts'
import { isRolledBack } from '../platform/database/failures.ts'
import { newId } from '../platform/ids.ts'
import { createSemaphore } from '../platform/limits/semaphore.ts'
import { redacted } from '../platform/secret.ts'
import { issuedTokenPattern, issuedTokenPrefix } from '../platform/tokens.ts'
import type { AuditChainStore, LinkedRow } from './audit-chain-store.ts'
import { chainKindOf, emptyChain, linked, macOf } from './audit-hash.ts'
import type { ChainKind, Head, RecordRow } from './audit-hash.ts'
import type { AuditKey, AuditKeyStore } from './audit-key-store.ts'
import type { AuditRecord } from './audit-record.ts'
import { isKeptBriefly } from './kept-briefly.ts'
import type { KeptBrieflyNeeds } from './kept-briefly.ts'
import { headsToName, namedHeads, signHead, startDetail } from './chain-heads.ts'
import type { SignedHead } from './chain-heads.ts'

export interface AuditWriter {
  /** Resolves to the record's audit_id. The record is written at the end of the transaction. */
  append: (tx: Queries, record: AuditRecord) => Promise<string>
}

/** The records of a commit of this process. */
export interface Committed {
  chains: readonly string[]
  records: readonly RecordRow[]
  /** False if the database did not answer: they may have been committed, or may still be. */
  isCertain: boolean
}

export interface AuditLog extends AuditWriter {
  /** Several records, in an open transaction. */
  appendAll: (tx: Queries, records: readonly AuditRecord[]) => void
  /**
   * The same with a function that inserts the rows in a transaction of its own. Resolves to false if nothing was
   * written. Other records wait meanwhile, so it must not wait for a lock of a transaction that has yet to append: a
   * deadlock.
   */
  appendInOneStep: (
    records: readonly AuditRecord[],
    insert: (rows: readonly LinkedRow[]) => Promise<unknown> | undefined,
  ) => Promise<boolean>
  /** Called after each commit with records. A listener must not throw. */
  onCommit: (listener: (committed: Committed) => void) => void
  /** Signs the heads of this process's chains, unless they are signed already. */
  signHeads: () => Promise<SignedHead[]>
}

interface Chain {
  head: Head
  signedPosition: number
  key: AuditKey
}

type Chains = ReadonlyMap<ChainKind, Chain>

interface AuditNeeds extends KeptBrieflyNeeds {
  database: Database
  auditChains: AuditChainStore
  auditKeys: AuditKeyStore
  clock: Clock
}

export function createAuditLog(needs: AuditNeeds): AuditLog {
  const { database, auditChains, clock } = needs
  const waiting = new WeakMap<Queries, LinkedRow[]>()
  const lock = createSemaphore(1)
  /** As of the last commit. Empty before the first record and after a commit with an unknown result. */
  const chains = new Map<ChainKind, Chain>()
  const commitListeners: ((committed: Committed) => void)[] = []

  const advance = (next: Chains, result: CommitResult) => {
    for (const [kind, chain] of next) {
      if (result === 'committed') chains.set(kind, chain)
      // The records may or may not be there: the next ones begin a new chain.
      if (result === 'unknown') chains.delete(kind)
    }
  }

  const notify = (next: Chains, records: readonly RecordRow[], result: CommitResult) => {
    if (result === 'undone') return
    const names = Array.from(next.values(), ({ head }) => head.chain)
    const committed = { chains: names, records, isCertain: result === 'committed' }
    for (const listener of commitListeners) listener(committed)
  }

  const collect = (tx: Queries, ...rows: LinkedRow[]): boolean => {
    const before = waiting.get(tx)
    if (before) return before.push(...rows) > 0
    const added = rows
    let next: Chains | undefined
    let release: (() => void) | undefined
    const run = async () => {
      waiting.delete(tx)
      release = await lock.acquire()
      next = await link(tx, added)
    }
    const ended = (result: CommitResult) => {
      waiting.delete(tx)
      if (next) advance(next, result)
      release?.()
      if (next) notify(next, added, result)
    }
    if (!beforeCommit(tx, { run, ended })) return false
    waiting.set(tx, added)
    return true
  }

  const link = async (tx: Queries, added: readonly LinkedRow[]): Promise<Chains> => {
    const bases = new Map(chains)
    for (const kind of kindsIn(added)) if (!bases.has(kind)) bases.set(kind, await startChain(tx, kind))
    const next = linkTo(bases, added)
    await auditChains.insert(tx, added)
    return next
  }

  const appendInOneStep: AuditLog['appendInOneStep'] = async (records, insert) => {
    const rows = records.map(toRow)
    const release = await lock.acquire()
    if (kindsIn(rows).some((kind) => !chains.has(kind))) {
      release()
      return false
    }
    const next = linkTo(chains, rows)
    let result: CommitResult = 'undone'
    try {
      const inserting = insert(rows)
      if (!inserting) return false
      result = 'unknown'
      await inserting
      result = 'committed'
      return true
    } catch (error) {
      if (!isRolledBack(error)) throw error
      result = 'undone'
      return false
    } finally {
      advance(next, result)
      release()
      notify(next, rows, result)
    }
  }

  /**
   * The first record names the heads of the other chains, so that cutting one short is detected. It is signed
   * immediately.
   */
  const startChain = async (tx: Queries, kind: ChainKind): Promise<Chain> => {
    const now = clock()
    const key = await needs.auditKeys.findOrMake(tx, now)
    const starts = await auditChains.listStarts(tx)
    const heads = headsToName(await auditChains.listHeads(tx), starts.flatMap(namedHeads))
    const unchained = await auditChains.countUnchained(tx)
    const detail = startDetail(heads, unchained)
    const row = toRow({ event: 'audit.chain_started', at: now, detail })
    const head = linked(emptyChain(newId(kind, now)), row)
    place(row, head)
    row.mac = macOf(key.macKey, head)
    await auditChains.insert(tx, [row])
    await auditChains.insertHead(tx, signHead('head', head, now, key.privateKey))
    return { head, signedPosition: head.position, key }
  }

  const append: AuditWriter['append'] = async (queries, record) => {
    const row = toRow({ ...record, isKeptBriefly: await isKeptBriefly(needs, queries, record) })
    if (!collect(queries, row)) {
      if (queries.isTransaction) throw new Error('a record came after the end of its transaction')
      await database.transaction((tx) => Promise.resolve(collect(tx, row)))
    }
    return row.audit_id
  }

  return {
    append,
    appendAll: (tx, records) => {
      for (const record of records) {
        if (!collect(tx, toRow(record))) throw new Error('a record came after the end of its transaction')
      }
    },
    appendInOneStep,
    onCommit: (listener) => {
      commitListeners.push(listener)
    },
    signHeads: async () => {
      const signedHeads: SignedHead[] = []
      for (const [kind, { head, signedPosition, key }] of [...chains]) {
        if (signedPosition === head.position) continue
        const signed = signHead('head', head, clock(), key.privateKey)
        await database.transaction((tx) => auditChains.insertHead(tx, signed))
        // The chain may have grown meanwhile, or a new one may have begun.
        const now = chains.get(kind)
        if (now?.head.chain === signed.chain) chains.set(kind, { ...now, signedPosition: signed.position })
        signedHeads.push(signed)
      }
      return signedHeads
    },
  }
}

function kindsIn(rows: readonly LinkedRow[]): ChainKind[] {
  return [...new Set(rows.map(chainKindOf))]
}

/** Links the rows to their chains. Returns the chains as they are then. */
function linkTo(bases: Chains, added: readonly LinkedRow[]): Chains {
  const next = new Map<ChainKind, Chain>()
  for (const kind of kindsIn(added)) {
    const base = bases.get(kind)
    if (!base) throw new Error(`the chain ${kind} has not begun`)
    let { head } = base
    let last: LinkedRow | undefined
    for (const row of added) {
      if (chainKindOf(row) !== kind) continue
      head = linked(head, row)
      place(row, head)
      last = row
    }
    if (last) last.mac = macOf(base.key.macKey, head)
    next.set(kind, { ...base, head })
  }
  return next
}

const noHash = new Uint8Array()

function toRow(record: AuditRecord): LinkedRow {
  return {
    audit_id: record.auditId ?? newId('aud', record.at),
    event: record.event,
    at: record.at.getTime(),
    request_id: record.requestId ?? null,
    agent_id: record.agentId ?? null,
    user_id: record.userId ?? null,
    grant_id: record.grantId ?? null,
    connection_id: record.connectionId ?? null,
    provider: record.provider ?? null,
    outcome: record.outcome ?? null,
    detail: withoutTokens(JSON.stringify(record.detail ?? {})),
    // The kind of its chain. Its place there is known at the end of the transaction.
    chain: record.isKeptBriefly ? 'chs' : 'chn',
    position: 0,
    hash: noHash,
    mac: null,
  }
}

/** A caller may have put a token into a path by mistake. Most details have nothing that looks like one. */
function withoutTokens(detail: string): string {
  return detail.includes(issuedTokenPrefix) ? detail.replaceAll(issuedTokenPattern, redacted) : detail
}

function place(row: LinkedRow, { chain, position, hash }: Head): void {
  row.chain = chain
  row.position = position
  row.hash = hash
  // It may have been the last of a commit that was rolled back.
  row.mac = null
}
