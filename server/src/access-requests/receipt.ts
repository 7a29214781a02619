import { termNames } from '@sallyport/protocol/grant-terms'
import type { Receipt } from '@sallyport/protocol/grants'
import type { Grant } from '../grants/grant.ts'
import { termsView } from '../grants/grant-view.ts'
import type { Signature } from '../devices/judge-signed.ts'

type ApprovedGrant = Grant & { userId: string; connectionId: string; accessRequestId: string }

/**
 * Proves an approval independently of the service: what was signed, with which key, and what the signature does not
 * cover.
 */
export function receiptFor(grant: ApprovedGrant, signature: Signature | undefined, approvedAt: Date): Receipt {
  const text = signature?.challenge.decision ?? null
  const decision = text === null ? null : (JSON.parse(text) as Record<string, unknown>)
  return {
    grant_id: grant.grantId,
    access_request_id: grant.accessRequestId,
    verdict: 'approve',
    signed: signature !== undefined,
    scope_signed: decision !== null,
    signing_input: signature?.message ?? null,
    signature: signature?.signature ?? null,
    challenge: signature ? { challenge_id: signature.challengeId, nonce: signature.challenge.nonce } : null,
    decision,
    device: signature?.device.publicKey
      ? { device_id: signature.device.deviceId, public_key_jwk: signature.device.publicKey }
      : null,
    approved_by: grant.userId,
    approved_at: approvedAt.toISOString(),
    ...termsIn(grant, decision),
  }
}

/** The same approval, of which narrower terms are left. What was signed stays as it was. */
export function withTerms(receipt: Receipt, grant: ApprovedGrant): Receipt {
  return { ...receipt, ...termsIn(grant, receipt.decision) }
}

function termsIn(grant: ApprovedGrant, decision: Receipt['decision']): Pick<Receipt, 'grant' | 'unsigned'> {
  return { grant: termsNow(grant), unsigned: termNames.filter((name) => !decision || !(name in decision)) }
}

/** As in decisions. */
export function termsNow(grant: Grant & { connectionId: string }): Receipt['grant'] {
  return {
    connection_id: grant.connectionId,
    allowed_hosts: grant.allowedHosts,
    allowed_methods: grant.allowedMethods,
    allowed_paths: grant.allowedPaths,
    max_calls: grant.maxCalls,
    expires_at: grant.expiresAt?.toISOString() ?? null,
    ...termsView(grant),
  }
}
