/** The authority that vouches for the gateway towards tools: how long one lasts, and when another takes over. */
import { X509Certificate } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

export interface Authority {
  /** Counts up; the newest is the highest. */
  generation: number
  /** In PEM. */
  certificate: string
  commonName: string
  privateKey: KeyObject
  notAfter: Date
}

export type AuthorityDates = Pick<Authority, 'generation' | 'notAfter'>

const dayMs = 86_400_000

export const lifetimeMs = 90 * dayMs
/** Clocks of clients, containers above all, may be behind. */
export const backdatedMs = dayMs
/** When its successor appears in ca.pem, so that tools trust it long before they meet it. */
const announcedBeforeMs = 30 * dayMs
/** When its successor takes over. Longer than any leaf lasts. */
const replacedBeforeMs = 7 * dayMs

export function isCurrent({ notAfter }: AuthorityDates, now: Date): boolean {
  return notAfter > now
}

export function isSuccessorDue(all: readonly AuthorityDates[], now: Date): boolean {
  return all.every((one) => leftMs(one, now) <= announcedBeforeMs)
}

/** The one that signs: as long as possible the one that tools have known the longest. */
export function signerOf<One extends AuthorityDates>(all: readonly One[], now: Date): One | undefined {
  const current = all.filter((one) => isCurrent(one, now)).sort((a, b) => a.generation - b.generation)
  return current.find((one) => leftMs(one, now) > replacedBeforeMs) ?? current.at(-1)
}

/** Of a certificate, as `openssl x509 -fingerprint -sha256` prints it. */
export function fingerprintOf({ certificate }: Pick<Authority, 'certificate'>): string {
  return new X509Certificate(certificate).fingerprint256
}

function leftMs({ notAfter }: AuthorityDates, now: Date): number {
  return notAfter.getTime() - now.getTime()
}
