import { auditPrivateKey } from './audit/audit-key-store.ts'
import { callbackSecret } from './callbacks/callback-store.ts'
import { flowAnswer, flowVerifier } from './connections/connect-flow-store.ts'
import { accessTokenColumn, credentialColumn, refreshTokenColumn } from './connections/connection-store.ts'
import { deviceCode } from './connections/device-flow-store.ts'
import { formerToken } from './connections/former-token-store.ts'
import { pushToken } from './devices/push-store.ts'
import { authorityPrivateKey } from './gateway/authority-store.ts'
import { heldRequest, heldResponse, heldShown } from './held-calls/held-call-store.ts'
import { repeatShown } from './held-calls/repeat-store.ts'
import { legacyV1Columns } from './legacy-v1/legacy-v1-store.ts'
import { vapidPrivateKey } from './platform/push/vapid-key.ts'
import type { SealedColumn } from './platform/vault/vault.ts'
import { providerClientSecret } from './providers/provider-store.ts'
import { idempotentAnswer } from './proxy/idempotency-store.ts'
import { sandboxToken } from './sandbox/sandbox-store.ts'
import { loginVerifier } from './sessions/login-flow-store.ts'

/** Every column with sealed values, which `keys rotate` has to re-encrypt. */
export const sealedColumns: readonly SealedColumn[] = [
  sandboxToken,
  providerClientSecret,
  accessTokenColumn,
  refreshTokenColumn,
  credentialColumn,
  formerToken,
  flowVerifier,
  flowAnswer,
  deviceCode,
  loginVerifier,
  callbackSecret,
  pushToken,
  vapidPrivateKey,
  auditPrivateKey,
  idempotentAnswer,
  heldRequest,
  heldShown,
  heldResponse,
  repeatShown,
  authorityPrivateKey,
  ...legacyV1Columns,
]
