import type { AccessRequestStore } from './access-requests/access-request-store.ts'
import type { MutedAgentStore } from './access-requests/muted-agent-store.ts'
import { dropOldRecords, measureRetention } from './audit/retention.ts'
import type { RetentionNeeds, RetentionResult } from './audit/retention.ts'
import type { CallbackStore } from './callbacks/callback-store.ts'
import type { ConnectFlowStore } from './connections/connect-flow-store.ts'
import type { DeviceFlowStore } from './connections/device-flow-store.ts'
import type { FormerTokenStore } from './connections/former-token-store.ts'
import type { ChallengeStore } from './devices/challenge-store.ts'
import type { PairingCodeStore } from './devices/pairing-code-store.ts'
import type { GrantStore } from './grants/grant-store.ts'
import type { dropUnusedAgents } from './grants/unused-agent-store.ts'
import type { HeldCallStore } from './held-calls/held-call-store.ts'
import type { RepeatStore } from './held-calls/repeat-store.ts'
import type { LegacyV1Store } from './legacy-v1/legacy-v1-store.ts'
import type { Config } from './config/config.ts'
import { deleteAll, inBatches, rowsPerBatch } from './platform/database/batches.ts'
import type { Queries } from './platform/database/database.ts'
import type { Metrics } from './platform/operations/metrics.ts'
import { dropFullLimits } from './platform/limits/rate-limits.ts'
import type { ProviderStore } from './providers/provider-store.ts'
import type { Idempotency } from './proxy/idempotency-store.ts'
import type { SandboxStore } from './sandbox/sandbox-store.ts'
import type { LoginFlowStore } from './sessions/login-flow-store.ts'
import type { LoginTokenStore } from './sessions/login-token-store.ts'
import type { SessionStore } from './sessions/session-store.ts'
import type { ToolKeyStore } from './tool-keys/tool-key-store.ts'

export interface SweepNeeds extends RetentionNeeds {
  config: Pick<Config, 'auditRetentionDays' | 'sandboxRetentionDays' | 'unapprovedAgentDays' | 'v1KeyOverlapHours'>
  loginTokens: LoginTokenStore
  loginFlows: LoginFlowStore
  sessions: SessionStore
  pairingCodes: PairingCodeStore
  challenges: ChallengeStore
  connectFlows: ConnectFlowStore
  deviceFlows: DeviceFlowStore
  formerTokens: FormerTokenStore
  sandboxes: SandboxStore
  grants: GrantStore
  dropUnusedAgents: typeof dropUnusedAgents
  accessRequests: AccessRequestStore
  callbacks: CallbackStore
  mutedAgents: MutedAgentStore
  providers: ProviderStore
  idempotency: Idempotency
  heldCallStore: HeldCallStore
  repeats: RepeatStore
  toolKeys: ToolKeyStore
  legacyV1: LegacyV1Store
}

const dayMs = 86_400_000

/** Runs one sweep at a time, as one may take longer than the interval. Stopping the service aborts it. */
export function createSweep({ metrics, ...needs }: SweepNeeds & { metrics: Metrics }) {
  const onRetention = measureRetention(metrics)
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  const run = async () => {
    onRetention(await sweep(needs, stopping.signal))
  }
  return {
    run: () => (running ??= run().finally(() => (running = undefined))),
    stop: (): Promise<void> => {
      stopping.abort()
      return Promise.resolve()
    },
  }
}

/** Deletes rows that are no longer needed. docs/storage.md says when for each table. */
async function sweep(needs: SweepNeeds, stopping: AbortSignal): Promise<RetentionResult> {
  const { database, clock } = needs
  const now = clock()
  const daysAgo = (days: number) => new Date(now.getTime() - days * dayMs)
  const { auditRetentionDays, sandboxRetentionDays } = needs.config
  const unapprovedSince = daysAgo(Math.min(sandboxRetentionDays, auditRetentionDays ?? Infinity))
  // In this order: referencing rows are deleted first.
  const steps: ((tx: Queries) => Promise<number>)[] = [
    (tx) => dropFullLimits(tx, now),
    (tx) => needs.loginTokens.dropExpired(tx, now),
    (tx) => needs.loginFlows.dropExpired(tx, now),
    (tx) => needs.sessions.dropEndedBefore(tx, daysAgo(30)),
    (tx) => needs.pairingCodes.dropExpiredBefore(tx, daysAgo(1)),
    (tx) => needs.challenges.dropExpiredBefore(tx, daysAgo(1)),
    (tx) => needs.connectFlows.dropExpired(tx, now),
    (tx) => needs.deviceFlows.dropEndedBefore(tx, daysAgo(1)),
    (tx) => needs.formerTokens.dropExpired(tx, now),
    (tx) => needs.sandboxes.dropEndedBefore(tx, daysAgo(1)),
    (tx) => dropRequests(needs, tx, needs.accessRequests.listOfSandboxesEndedBefore(tx, daysAgo(1), rowsPerBatch)),
    (tx) => needs.grants.dropSandboxesEndedBefore(tx, daysAgo(1)),
    (tx) => needs.mutedAgents.dropEnded(tx, now),
    (tx) => needs.providers.dropIncompleteBefore(tx, daysAgo(30)),
    (tx) => needs.idempotency.dropExpired(tx, now),
    (tx) => needs.heldCallStore.dropResponses(tx, now),
    (tx) => needs.heldCallStore.dropOld(tx, now),
    (tx) => needs.repeats.dropExpired(tx, now),
    (tx) => needs.toolKeys.dropExpired(tx, now),
    (tx) => needs.callbacks.dropWaitingBefore(tx, daysAgo(2)),
    (tx) => dropRequests(needs, tx, needs.accessRequests.listUnapprovedBefore(tx, unapprovedSince, rowsPerBatch)),
  ]
  for (const step of steps) await deleteAll(database, step)
  await dropAllUnusedAgents(needs, daysAgo(needs.config.unapprovedAgentDays))
  await needs.legacyV1.dropEnded(needs, now)
  const keptSince = {
    chn: auditRetentionDays === undefined ? undefined : daysAgo(auditRetentionDays),
    chs: unapprovedSince,
  }
  return dropOldRecords(needs, keptSince, { signal: stopping })
}

/** A batch at a time: most agents are in use, and each has to be looked at. */
async function dropAllUnusedAgents({ database, dropUnusedAgents }: SweepNeeds, before: Date): Promise<void> {
  let last: string | undefined = ''
  await inBatches(async () => {
    last = await database.transaction((tx) => dropUnusedAgents(database, tx, before, last ?? ''))
    return last === undefined ? 'done' : 'more'
  })
}

async function dropRequests(
  { grants, accessRequests, callbacks }: SweepNeeds,
  tx: Queries,
  listed: Promise<string[]>,
): Promise<number> {
  const accessRequestIds = await listed
  await callbacks.dropOf(tx, accessRequestIds)
  await grants.detachRequests(tx, accessRequestIds)
  await accessRequests.drop(tx, accessRequestIds)
  return accessRequestIds.length
}
