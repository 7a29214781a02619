/** One-sentence descriptions of the responses, for the OpenAPI reference. */
import {
  AccessRequest,
  AgentName,
  ChallengeReply,
  CreateAccessRequestReply,
  GrantChallengeReply,
  MutedAgent,
} from '@sallyport/protocol/access-requests'
import { Agent, RegisterAgentReply } from '@sallyport/protocol/agents'
import { AuditKeyReply, AuditRecord, AuditSeriesReply } from '@sallyport/protocol/audit'
import {
  AgentCall,
  CallChallengeReply,
  CallReceipt,
  DecideCallsReply,
  HeldReply,
  PersonCall,
  Repeat,
} from '@sallyport/protocol/calls'
import {
  Connection,
  PollDeviceFlowReply,
  StartConnectReply,
  StartDeviceFlowReply,
} from '@sallyport/protocol/connections'
import { Device, DeviceChallengeReply, PairingCodeReply, PairReply } from '@sallyport/protocol/devices'
import { GatewayReply } from '@sallyport/protocol/gateway'
import { Grant, GrantUseReply, Receipt } from '@sallyport/protocol/grants'
import { HealthReply } from '@sallyport/protocol/health'
import { Mail } from '@sallyport/protocol/mail'
import { Pause } from '@sallyport/protocol/pauses'
import { ProviderDetails, TestClientReply } from '@sallyport/protocol/providers'
import { Echo, StartSandboxReply } from '@sallyport/protocol/sandbox'
import {
  CreateLoginTokenReply,
  LoginPreviewReply,
  LoginProvidersReply,
  LoginReply,
  LogoutAllReply,
  MeReply,
  Session,
  User,
} from '@sallyport/protocol/sessions'
import { CreateToolKeyReply, ToolKey, ToolKeyList } from '@sallyport/protocol/tool-keys'
import {
  PublicKeyReply,
  ReadReply,
  RefreshReply,
  RegisterClientReply,
  RotateKeyReply,
  SaveReply,
} from '@sallyport/protocol/v1/bodies'

const sentences = new Map<unknown, string>([
  [AccessRequest, 'The access request with its current status.'],
  [CreateAccessRequestReply, 'The pending access request; send the person to its approval_url.'],
  [ChallengeReply, 'What the device has to sign to approve or deny.'],
  [AgentName, 'The name, which only this user sees.'],
  [Mail, 'Whether this user gets e-mail, and where.'],
  [MutedAgent, 'The agent, which this user is no longer notified about.'],
  [Agent, 'The agent.'],
  [RegisterAgentReply, 'The agent and its token, which is shown only once.'],
  [AuditKeyReply, 'The public key, in two formats.'],
  [AuditRecord, 'The record; for a call, with its outcome.'],
  [AuditSeriesReply, 'Number of calls in each time bucket.'],
  [HeldReply, 'The call waits for a person. GET /v4/calls/{call_id} says what has become of it.'],
  [AgentCall, 'The call and, once it was made, its response.'],
  [PersonCall, 'The call as a person sees it.'],
  [CallChallengeReply, 'What the device has to sign to approve or deny.'],
  [DecideCallsReply, 'What became of each call.'],
  [CallReceipt, 'Proof of the decision, verifiable without the service.'],
  [Repeat, 'The approval, which does not repeat any more.'],
  [Connection, 'The connection, without its tokens.'],
  [StartConnectReply, 'The URL where the user gives consent in a browser.'],
  [StartDeviceFlowReply, 'The code to enter, and where to enter it.'],
  [PollDeviceFlowReply, 'The status of the flow, and the connection once it exists.'],
  [Device, 'The device.'],
  [DeviceChallengeReply, 'What the device has to sign.'],
  [PairingCodeReply, 'A one-time code that pairs one device.'],
  [PairReply, 'The device and its session token, which is shown only once.'],
  [Grant, 'The grant.'],
  [Receipt, 'Proof that a person approved the grant, verifiable without the service.'],
  [HealthReply, 'The status of the service.'],
  [ProviderDetails, 'The provider, without its client secret.'],
  [TestClientReply, 'Whether the provider knows the client.'],
  [Echo, 'The request as it was received.'],
  [StartSandboxReply, 'A grant for the echo endpoint, and an example call.'],
  [CreateLoginTokenReply, 'A one-time login token, and the link that contains it.'],
  [LoginPreviewReply, 'The user that the token signs in, and when it expires.'],
  [LoginProvidersReply, 'The login providers, including disabled ones.'],
  [LoginReply, 'The signed-in user; the session is set as a cookie, and its token is shown only once.'],
  [LogoutAllReply, 'The number of sessions that were ended.'],
  [MeReply, 'The user and, if a device makes the request, the device.'],
  [Session, 'The session.'],
  [User, 'The user.'],
  [CreateToolKeyReply, 'The key, which is shown only once.'],
  [ToolKeyList, 'The keys that have not ended, newest first.'],
  [ToolKey, 'The key, which opens nothing any more.'],
  [GrantChallengeReply, 'The challenge for the device to sign.'],
  [GrantUseReply, 'What the grant was used for, and a narrower change of it if there is one.'],
  [Pause, 'Whether agents are paused, and since when.'],
  [GatewayReply, 'Where the gateway listens.'],
  [PublicKeyReply, 'The key to encrypt envelopes to.'],
  [RegisterClientReply, 'The client and its first challenge, encrypted to its key.'],
  [RefreshReply, 'The next challenge; the previous one can no longer be used.'],
  [RotateKeyReply, 'The next challenge, encrypted to the new key.'],
  [SaveReply, 'The number of saved values, and the next challenge.'],
  [ReadReply, 'The values, encrypted, and the next challenge.'],
])

interface AnswerSchema {
  description?: string
  properties?: Record<string, unknown>
}

/** Undefined if there is no description. */
export function describeAnswer(schema: AnswerSchema): string | undefined {
  return schema.description ?? sentences.get(schema) ?? describePage(schema)
}

function describePage({ properties = {} }: AnswerSchema): string | undefined {
  const [name, ...others] = Object.keys(properties).filter((member) => member !== 'next_cursor')
  if (name === undefined || others.length > 0 || !('next_cursor' in properties)) return undefined
  return `A page of ${name.replaceAll('_', ' ')}; next_cursor is the cursor of the next one.`
}
