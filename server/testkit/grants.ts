import type { Receipt } from '@sallyport/protocol/grants'
import { defaultTerms } from '../src/grants/grant.ts'
import type { Grant } from '../src/grants/grant.ts'
import { grantStore } from '../src/grants/grant-store.ts'
import { newId } from '../src/platform/ids.ts'
import type { TestService } from './service.ts'

/** A grant on an existing connection, as an approval would create it. */
export async function insertGrant(
  { database, clock }: TestService,
  terms: Partial<Grant> & Pick<Grant, 'agentId' | 'userId' | 'connectionId'>,
  receipt: Receipt | null = null,
): Promise<Grant> {
  const grant: Grant = {
    grantId: newId('grt', clock.now()),
    kind: 'connection',
    accessRequestId: null,
    allowedHosts: ['api.example.com'],
    allowedMethods: null,
    allowedPaths: null,
    maxCalls: null,
    calls: 0,
    lastUsedAt: null,
    createdAt: clock.now(),
    expiresAt: null,
    revokedAt: null,
    revokedBy: null,
    isCutOff: false,
    isPaused: false,
    termsVersion: 1,
    ...defaultTerms,
    ...terms,
  }
  await grantStore.insert(database.queries, grant, receipt)
  return grant
}
