/** All stores, by the names that the folders use for them. */
import { accessRequestStore } from './access-requests/access-request-store.ts'
import { agentNameStore } from './access-requests/agent-name-store.ts'
import { mutedAgentStore } from './access-requests/muted-agent-store.ts'
import { agentStore } from './agents/agent-store.ts'
import { auditChainStore } from './audit/audit-chain-store.ts'
import { createAuditKeyStore } from './audit/audit-key-store.ts'
import { auditListStore } from './call-log/audit-list-store.ts'
import { callSeriesStore } from './call-log/call-series-store.ts'
import { auditTailStore } from './audit/audit-tail-store.ts'
import { createAuditLog } from './audit/audit-log.ts'
import { createCallbackStore } from './callbacks/callback-store.ts'
import { createConnectFlowStore } from './connections/connect-flow-store.ts'
import { createConnectionStore } from './connections/connection-store.ts'
import { createCredentialStore } from './connections/credential-store.ts'
import { createDeviceFlowStore } from './connections/device-flow-store.ts'
import { createFormerTokenStore } from './connections/former-token-store.ts'
import { createRefreshStore } from './connections/refresh-store.ts'
import { createRevocationStore } from './connections/revocation-store.ts'
import { challengeStore } from './devices/challenge-store.ts'
import { deviceStore } from './devices/device-store.ts'
import { pairingCodeStore } from './devices/pairing-code-store.ts'
import { pauseStore } from './pauses/pause-store.ts'
import { createPushStore } from './devices/push-store.ts'
import { createAuthorityStore } from './gateway/authority-store.ts'
import { isApproved } from './grants/approved-agent-store.ts'
import { grantFiguresOf } from './grants/grant-figures-store.ts'
import { grantStore } from './grants/grant-store.ts'
import { standingStore } from './grants/standing-store.ts'
import { dropUnusedAgents } from './grants/unused-agent-store.ts'
import { createHeldCallStore } from './held-calls/held-call-store.ts'
import { createRepeatStore } from './held-calls/repeat-store.ts'
import { createLegacyV1Store } from './legacy-v1/legacy-v1-store.ts'
import { createProviderStore } from './providers/provider-store.ts'
import { usedPresetStore } from './providers/used-preset-store.ts'
import { singleStatementStore } from './call-log/single-statement-store.ts'
import { createIdempotency } from './proxy/idempotency-store.ts'
import { createSandboxStore } from './sandbox/sandbox-store.ts'
import { subscriptionStore } from './mail/subscription-store.ts'
import { identityStore } from './sessions/identity-store.ts'
import { createLoginFlowStore } from './sessions/login-flow-store.ts'
import { loginTokenStore } from './sessions/login-token-store.ts'
import { sessionStore } from './sessions/session-store.ts'
import { userStore } from './sessions/user-store.ts'
import { toolKeyStore } from './tool-keys/tool-key-store.ts'
import type { Clock } from './platform/clock.ts'
import type { Database } from './platform/database/database.ts'
import { createStorageLimits } from './platform/limits/storage-limits.ts'
import type { Vault } from './platform/vault/vault.ts'

export function createStores({ database, vault, clock }: { database: Database; vault: Vault; clock: Clock }) {
  const auditKeys = createAuditKeyStore(vault)
  return {
    agents: agentStore,
    endPairingCodes: pairingCodeStore.dropUnused,
    unenrolDevices: deviceStore.unenrolAll,
    endToolKeys: toolKeyStore.dropOfAgent,
    grantsOfAgents: grantFiguresOf.bind(null, 'agent_id'),
    grantsOfUsers: grantFiguresOf.bind(null, 'user_id'),
    users: userStore,
    sessions: sessionStore,
    loginTokens: loginTokenStore,
    loginFlows: createLoginFlowStore(vault),
    identities: identityStore,
    devices: deviceStore,
    challenges: challengeStore,
    pairingCodes: pairingCodeStore,
    providers: createProviderStore(vault),
    usedPresets: usedPresetStore,
    connections: createConnectionStore(vault),
    credentials: createCredentialStore(vault),
    refreshes: createRefreshStore(vault),
    revocations: createRevocationStore(vault),
    formerTokens: createFormerTokenStore(vault),
    connectFlows: createConnectFlowStore(vault),
    deviceFlows: createDeviceFlowStore(vault),
    grants: grantStore,
    standings: standingStore,
    singleStatements: singleStatementStore,
    idempotency: createIdempotency(vault),
    heldCallStore: createHeldCallStore(vault),
    repeats: createRepeatStore(vault),
    toolKeys: toolKeyStore,
    authorities: createAuthorityStore(vault),
    sandboxes: createSandboxStore(vault),
    callbacks: createCallbackStore(vault),
    pushes: createPushStore(vault),
    accessRequests: accessRequestStore,
    mutedAgents: mutedAgentStore,
    agentNames: agentNameStore,
    pauses: pauseStore,
    subscriptions: subscriptionStore,
    legacyV1: createLegacyV1Store(vault),
    audit: createAuditLog({ database, auditChains: auditChainStore, auditKeys, isApproved, clock }),
    auditChains: auditChainStore,
    auditKeys,
    auditList: auditListStore,
    callSeries: callSeriesStore,
    auditTail: auditTailStore,
    isApproved,
    dropUnusedAgents,
    storageLimits: createStorageLimits({ database, clock }),
  }
}

export type Stores = ReturnType<typeof createStores>
