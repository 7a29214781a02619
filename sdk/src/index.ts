/** The SDK's public API. */
export { createAdminClient } from './admin-client.ts'
export type { AdminClient, AdminClientOptions, ProviderDetailsPage } from './admin-client.ts'
export { createAgentClient } from './agent/client.ts'
export type { AgentClient, AgentClientOptions, ProxyCall, ProxyCallOptions } from './agent/client.ts'
export type { AgentCalls, HeldCallOptions, WaitForCallOptions } from './agent/held-calls.ts'
export type { FetchOptions } from './agent/proxied-fetch.ts'
export { registerAgent } from './agent/register-agent.ts'
export type { WaitOptions } from './agent/wait-for-grant.ts'
export type { Audit } from './audit.ts'
export { createDeviceClient } from './device/client.ts'
export type {
  CallDecision,
  CallDenial,
  Decision,
  Denial,
  DeviceAction,
  DeviceClient,
  DeviceClientOptions,
  GrantChange,
  SigningOptions,
} from './device/client.ts'
export { generateDeviceKey, publicJwkOf, thumbprintOf } from './device/keys.ts'
export type { DeviceKeyPair } from './device/keys.ts'
export { pairDevice } from './device/pair-device.ts'
export type { PairOptions } from './device/pair-device.ts'
export type { ShownCall } from './device/sign-call.ts'
export type { Signature, Signed } from './device/sign-decision.ts'
export { AccessDenied, AccessExpired, SallyportError } from './errors.ts'
export type { ClientErrorCode, WaitingCall, WantedAccess } from './errors.ts'
export type { ServiceEvent } from './events.ts'
export type { Listing } from './listing.ts'
export type { CallOptions, ClientOptions } from './transport.ts'
export { createUserClient } from './user-client.ts'
export type { UserClient, UserClientOptions } from './user-client.ts'
export { verifyCallback } from './verify-callback.ts'
export type { CallbackEvent, CallbackHeaders, VerifyCallbackOptions } from './verify-callback.ts'
export { verifyCallReceipt } from '@sallyport/protocol/verify-call-receipt'
export type { CallReceiptCheck } from '@sallyport/protocol/verify-call-receipt'
export { verifyReceipt } from '@sallyport/protocol/verify-receipt'
export type { ReceiptCheck } from '@sallyport/protocol/verify-receipt'
export type * from './wire.ts'

export { createLegacyClient } from './legacy-v1/client.ts'
export type { AboutKey, Item, LegacyClient, LegacyClientOptions, ReadItem, ReadResult } from './legacy-v1/client.ts'
export { exportClientKey, generateClientKey, importClientKey } from './legacy-v1/keys.ts'
export type { ClientKey } from './legacy-v1/keys.ts'
export { LegacyError } from './legacy-v1/errors.ts'
