/**
 * Verifies a receipt without the service: the device's key signed this approval, and the grant's terms are within those
 * that it signed. Trusts only the key: the caller has to know that it is the user's own.
 */
import { approvalMessage } from './approval-message.ts'
import { canonicalJson } from './canonical-json.ts'
import { isSignedText } from './ecdsa-signature.ts'
import { grantModes, maxAccesses, termNames } from './grant-terms.ts'
import type { TermName } from './grant-terms.ts'
import type { Receipt } from './grants.ts'
import { unescapeUnreserved } from './percent-encoding.ts'

export interface ReceiptCheck {
  /** `unsigned`: the receipt has no signature. `invalid`: a claim in it is false. */
  verdict: 'signed' | 'unsigned' | 'invalid'
  /** The terms that the signature covers. */
  covers: TermName[]
  /** For `invalid`: the reason. */
  problem?: string
}

const randomBytes = 32

/** What a receipt grants if it has no such members: it was stored before grants had these terms. */
const allowsAll = { mode: 'allow_all', exceptions: [], max_access: null }

const invalid = (problem: string): ReceiptCheck => ({ verdict: 'invalid', covers: [], problem })

/** A receipt may come from an attacker: one that can't be parsed is invalid too. */
export async function verifyReceipt(receipt: Receipt): Promise<ReceiptCheck> {
  try {
    return await check(receipt)
  } catch {
    return invalid('it does not have the form of a receipt')
  }
}

async function check(receipt: Receipt): Promise<ReceiptCheck> {
  const { challenge, device, signature, decision, unsigned } = receipt
  const isEarlier = !Object.keys(allowsAll).some((name) => Object.hasOwn(receipt.grant, name))
  const grant: Partial<Record<TermName, unknown>> = isEarlier ? { ...allowsAll, ...receipt.grant } : receipt.grant
  // Denials are signed too, and differ only in the verdict.
  if ((receipt.verdict as string) !== 'approve') return invalid('it is not a receipt of an approval')
  const covers = termNames.filter((name) => decision !== null && Object.hasOwn(decision, name))
  const left = termNames.filter((name) => !covers.includes(name) && !(isEarlier && name in allowsAll))
  if (canonicalJson([...unsigned].sort()) !== canonicalJson(left.sort())) {
    return invalid('"unsigned" does not list the terms that no signature covers')
  }
  if (receipt.scope_signed !== (decision !== null)) return invalid('"scope_signed" does not agree with "decision"')
  if (!receipt.signed) {
    const isBare = challenge === null && device === null && signature === null && receipt.signing_input === null
    return isBare && decision === null ? { verdict: 'unsigned', covers } : invalid('it holds more than "signed" admits')
  }
  if (challenge === null || device === null || signature === null) return invalid('a part of the signature is missing')
  const message = messageOf(receipt, challenge)
  if (message === undefined || receipt.signing_input !== message) return invalid('another text was signed')
  if (!(await isSignedText(message, signature, device.public_key_jwk))) return invalid('the signature does not verify')
  if (!(await holdsDecision(challenge.nonce, decision))) return invalid('the nonce was not made for this decision')
  const wider = covers.find((name) => !isWithin(name, grant[name], decision?.[name]))
  if (wider !== undefined) return invalid(`"${wider}" was granted otherwise than it was signed`)
  return { verdict: 'signed', covers }
}

function messageOf(receipt: Receipt, { challenge_id, nonce }: NonNullable<Receipt['challenge']>): string | undefined {
  try {
    return approvalMessage(challenge_id, nonce, receipt.access_request_id, 'approve')
  } catch {
    return undefined
  }
}

/** A nonce is 32 random bytes, followed by the hash of the decision if there is one. */
async function holdsDecision(nonce: string, decision: Receipt['decision']): Promise<boolean> {
  const bytes = fromBase64url(nonce)
  if (decision === null) return bytes?.length === randomBytes
  const text = new TextEncoder().encode(canonicalJson(decision))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return bytes?.length === randomBytes + hash.length && hash.every((byte, index) => byte === bytes[randomBytes + index])
}

/** The service may grant less than was signed (a host that the account does not have), and normalizes values. */
function isWithin(name: TermName, granted: unknown, signed: unknown): boolean {
  if (name === 'connection_id') return granted === signed
  if (name === 'mode') return isAtMost(strictToLoose, granted, signed)
  if (name === 'exceptions') return onlyAddRefusals(plainExceptions(granted), plainExceptions(signed))
  // If the user set no limit, any limit is within it.
  if (signed === null) return name !== 'allowed_hosts'
  if (granted === null) return false
  if (name === 'max_access') return isAtMost(maxAccesses, granted, signed)
  if (name === 'max_calls') return typeof granted === 'number' && typeof signed === 'number' && granted <= signed
  if (name === 'expires_at') return timeOf(granted) <= timeOf(signed)
  if (!Array.isArray(granted) || !Array.isArray(signed)) return false
  const writings = { allowed_hosts: plainHost, allowed_methods: plainMethod, allowed_paths: plainPath }
  const plain = writings[name]
  const allowed = signed.map((one) => plain(String(one)))
  return granted.every((one) => allowed.some((entry) => isUnder(entry, plain(String(one)))))
}

/** The user may have added some since that refuse calls or make them wait. */
function onlyAddRefusals(granted: Exception[], signed: Exception[]): boolean {
  const [here, there] = [granted, signed].map((all) => new Set(all.map(canonicalJson)))
  return (
    signed.every((one) => here?.has(canonicalJson(one))) &&
    granted.every((one) => there?.has(canonicalJson(one)) || one.action === 'deny' || one.action === 'ask')
  )
}

const strictToLoose = [...grantModes].reverse()

function isAtMost(order: readonly unknown[], granted: unknown, signed: unknown): boolean {
  return order.includes(granted) && order.indexOf(granted) <= order.indexOf(signed)
}

interface Exception {
  paths: string[]
  methods?: string[]
  action: unknown
}

/** As stored by the service. Throws if they are none. Other members stay, so that they make a difference. */
function plainExceptions(exceptions: unknown): Exception[] {
  return (exceptions as Exception[]).map(({ paths, methods, ...others }) => ({
    ...others,
    paths: distinct(paths, plainPath),
    ...(methods !== undefined && { methods: distinct(methods, plainMethod) }),
  }))
}

function distinct(texts: readonly string[], plain: (text: string) => string): string[] {
  return [...new Set(texts.map(plain))]
}

/** NaN if it is not a time. Every comparison with it is false. */
function timeOf(value: unknown): number {
  return typeof value === 'string' ? Date.parse(value) : Number.NaN
}

/** Equal, or a subdomain of a wildcard. */
function isUnder(entry: string, value: string): boolean {
  if (entry === value) return true
  return entry.startsWith('*.') && value.endsWith(entry.slice(1)) && value.length > entry.length - 1
}

const plainHost = (host: string) => host.toLowerCase().replace(/:443$/, '')
const plainMethod = (method: string) => method.toUpperCase()

/** As stored by the service: without a trailing slash. */
function plainPath(path: string): string {
  const plain = unescapeUnreserved(path).replaceAll(/\/\{credential\}(?=\/|$)/g, '/%7Bcredential%7D')
  return plain.length > 1 ? plain.replace(/\/$/, '') : plain
}

/** Undefined if the text is not canonical base64url. */
function fromBase64url(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const again = btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  return again === text ? Uint8Array.from(binary, (character) => character.charCodeAt(0)) : undefined
}
