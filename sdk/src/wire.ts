/** The types of request and response bodies. No code at run time. */
export type {
  AccessRequest,
  AccessRequestPage,
  AgentName,
  AgentNamePage,
  ApproveBody,
  ChallengeBody,
  ChallengeReply,
  ChangeGrantBody,
  CreateAccessRequestBody,
  CreateAccessRequestReply,
  DenyBody,
  GrantChallengeReply,
  MutedAgent,
  MutedAgentPage,
} from '@sallyport/protocol/access-requests'
export type {
  Agent,
  AgentPage,
  ListAgentsQuery,
  ListedAgent,
  RegisterAgentBody,
  RegisterAgentReply,
} from '@sallyport/protocol/agents'
export type {
  AuditKeyReply,
  AuditPage,
  AuditRecord,
  AuditSeries,
  AuditSeriesQuery,
  AuditSeriesReply,
  ListAuditQuery,
} from '@sallyport/protocol/audit'
export type {
  AgentCall,
  AgentCallPage,
  ApproveCallBody,
  CallChallengeReply,
  CallDescription,
  CallReceipt,
  CallStatus,
  DecideCallsBody,
  DecideCallsReply,
  DenyCallBody,
  HeldReply,
  ListCallsQuery,
  PersonCall,
  PersonCallPage,
  Repeat,
  RepeatPage,
  ShownBody,
} from '@sallyport/protocol/calls'
export type {
  Connection,
  ConnectionPage,
  CreateConnectionBody,
  ListConnectionsQuery,
  PollDeviceFlowReply,
  ReplaceCredentialBody,
  StartConnectBody,
  StartConnectReply,
  StartDeviceFlowBody,
  StartDeviceFlowReply,
} from '@sallyport/protocol/connections'
export type {
  Device,
  DeviceChallengeReply,
  DevicePage,
  ListDevicesQuery,
  PairBody,
  PairingCodeReply,
  PairReply,
  Platform,
  SignedBody,
} from '@sallyport/protocol/devices'
export type { Mail } from '@sallyport/protocol/mail'
export type { Pause } from '@sallyport/protocol/pauses'
export type { CreateToolKeyBody, CreateToolKeyReply, ToolKey, ToolKeyList } from '@sallyport/protocol/tool-keys'
export type { ChangedEvent, EndedEvent, EventTopic } from '@sallyport/protocol/events'
export type { ErrorCode } from '@sallyport/protocol/errors'
export type { GatewayReply } from '@sallyport/protocol/gateway'
export type { AccessClass, ExceptionAction, GrantMode, MaxAccess, TermName } from '@sallyport/protocol/grant-terms'
export type {
  Grant,
  GrantException,
  GrantPage,
  GrantUseReply,
  ListGrantsQuery,
  Receipt,
} from '@sallyport/protocol/grants'
export type { HealthReply } from '@sallyport/protocol/health'
export type { DeviceKey } from '@sallyport/protocol/jwk'
export type { PageQuery } from '@sallyport/protocol/lists'
export type {
  CreateProviderBody,
  ListPresetsQuery,
  ListProvidersQuery,
  Preset,
  PresetPage,
  ProposeProviderBody,
  Provider,
  ProviderCredentialsBody,
  ProviderEndpointsBody,
  ProviderDetails,
  ProviderPage,
  TestClientBody,
  TestClientReply,
  UpdateProviderBody,
} from '@sallyport/protocol/providers'
export type { DryRunReply, ProxyBody, ProxyReply } from '@sallyport/protocol/proxy'
export type { PushTokenBody } from '@sallyport/protocol/push-tokens'
export type { Echo, StartSandboxReply } from '@sallyport/protocol/sandbox'
export type { ErrorBody } from '@sallyport/protocol/schema'
export type {
  ChangeMeBody,
  CreateLoginTokenBody,
  CreateLoginTokenReply,
  ListSessionsQuery,
  ListedUser,
  ListUsersQuery,
  LoginPreviewReply,
  LoginProvidersReply,
  LoginReply,
  LogoutAllReply,
  MeReply,
  Session,
  SessionPage,
  User,
  UserPage,
} from '@sallyport/protocol/sessions'
