/** Signed positions of a chain: a head says how long it is, a stub how much of it retention has deleted. */
import { sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { hashText } from './audit-hash.ts'
import type { Head } from './audit-hash.ts'

export interface SignedHead extends Head {
  at: Date
  signature: Uint8Array
}

type Kind = 'head' | 'stub'

export function signHead(kind: Kind, head: Head, at: Date, privateKey: KeyObject): SignedHead {
  return { ...head, at, signature: sign(null, signedBytes(kind, head, at), privateKey) }
}

export function isSignedBy(publicKey: KeyObject, kind: Kind, head: SignedHead): boolean {
  return verify(null, signedBytes(kind, head, head.at), publicKey, head.signature)
}

function signedBytes(kind: Kind, head: Head, at: Date): Buffer {
  return Buffer.from(signingInput(kind, head, at))
}

function signingInput(kind: Kind, { chain, position, hash }: Head, at: Date): string {
  return `sallyport-audit-${kind}.v1.${chain}.${position}.${hashText(hash)}.${at.getTime()}`
}

/** A head as one line of text, to be kept where the service can't change it. */
export function headText(head: SignedHead): string {
  return `${signingInput('head', head, head.at)}.${hashText(head.signature)}`
}

const headPattern =
  /^sallyport-audit-head\.v1\.(ch[ns]_[0-9a-z]{26})\.(\d{1,15})\.([\w-]{43})\.(\d{1,15})\.([\w-]{86})$/

export function readHeadText(text: string): SignedHead | undefined {
  const [, chain, position, hash, at, signature] = headPattern.exec(text.trim()) ?? []
  if (chain === undefined || hash === undefined || signature === undefined) return undefined
  return {
    chain,
    position: Number(position),
    hash: Buffer.from(hash, 'base64url'),
    at: new Date(Number(at)),
    signature: Buffer.from(signature, 'base64url'),
  }
}
