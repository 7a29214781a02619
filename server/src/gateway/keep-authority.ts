/**
 * Keeps an authority that lasts: the first instance that needs one creates it for all, and replaces it in time. Both are in
 * ca.pem while one replaces the other. Expired ones are deleted, and their keys with them.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Log } from '../platform/operations/log.ts'
import { backdatedMs, fingerprintOf, isCurrent, isSuccessorDue, lifetimeMs, signerOf } from './authority.ts'
import type { Authority } from './authority.ts'
import type { AuthorityStore, NewAuthority, PublicAuthority } from './authority-store.ts'
import { authorityCertificate } from './certificate.ts'

export interface AuthorityNeeds {
  database: Database
  authorities: AuthorityStore
  clock: Clock
  log: Log
}

export interface AuthorityKeeper {
  /** Oldest first, without those that have expired. */
  current: () => Promise<PublicAuthority[]>
  /** With its key. */
  signer: () => Promise<Authority>
}

export function keepAuthority(needs: AuthorityNeeds): AuthorityKeeper {
  const { database, authorities, clock } = needs
  let known: Authority | undefined
  const current = async (): Promise<PublicAuthority[]> => {
    const all = await authorities.list(database.queries)
    const now = clock()
    if (isSuccessorDue(all, now) || all.some((one) => !isCurrent(one, now))) await renew(needs)
    else return all
    return authorities.list(database.queries)
  }
  return {
    current,
    signer: async () => {
      const chosen = signerOf(await current(), clock())
      if (chosen && known?.certificate === chosen.certificate) return known
      known = chosen && (await authorities.find(database.queries, chosen.generation))
      if (!known) throw new Error("the gateway's authority was not stored")
      return known
    },
  }
}

async function renew({ database, authorities, clock, log }: AuthorityNeeds): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const created = await database.transaction(async (tx) => {
    const now = clock()
    const all = await authorities.list(tx)
    for (const one of all) if (!isCurrent(one, now)) await authorities.delete(tx, one.generation)
    if (!isSuccessorDue(all, now)) return undefined
    const made = newAuthority((all.at(-1)?.generation ?? 0) + 1, privateKey, now)
    await authorities.insert(tx, made)
    return (await authorities.list(tx)).find(({ certificate }) => certificate === made.certificate)
  })
  if (!created) return
  const detail = { fingerprint: fingerprintOf(created), until: created.notAfter.toISOString() }
  log.info(detail, 'a new authority of the gateway was created')
}

function newAuthority(generation: number, privateKey: KeyObject, createdAt: Date): NewAuthority {
  // Distinct names: some programs find the issuer of a certificate by its name alone.
  const commonName = `Sallyport gateway ${randomBytes(4).toString('hex')}`
  const at = createdAt.getTime()
  const dates = { notBefore: new Date(at - backdatedMs), notAfter: new Date(at + lifetimeMs) }
  return { generation, privateKey, createdAt, certificate: authorityCertificate({ commonName, privateKey }, dates) }
}
