/** What each answer is, in a sentence for the reference. */
import {
  AccessRequest,
  ChallengeReply,
  CreateAccessRequestReply,
  MutedAgent,
} from '@sallyport/protocol/access-requests'
import { Agent, RegisterAgentReply } from '@sallyport/protocol/agents'
import { AuditKeyReply, AuditRecord, AuditSeriesReply } from '@sallyport/protocol/audit'
import {
  Connection,
  PollDeviceFlowReply,
  StartConnectReply,
  StartDeviceFlowReply,
} from '@sallyport/protocol/connections'
import { Device, DeviceChallengeReply, PairingCodeReply, PairReply } from '@sallyport/protocol/devices'
import { Grant, Receipt } from '@sallyport/protocol/grants'
import { HealthReply } from '@sallyport/protocol/health'
import { ProviderDetails } from '@sallyport/protocol/providers'
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
import {
  PublicKeyReply,
  ReadReply,
  RefreshReply,
  RegisterClientReply,
  RotateKeyReply,
  SaveReply,
} from '@sallyport/protocol/v1/bodies'

const sentences = new Map<unknown, string>([
  [AccessRequest, 'The access request, and what became of it so far.'],
  [CreateAccessRequestReply, 'The access request that waits now; send the person to its approval_url.'],
  [ChallengeReply, 'What the device has to sign to approve or deny.'],
  [MutedAgent, 'The agent, of which this user is not notified any more.'],
  [Agent, 'The agent as it is now.'],
  [RegisterAgentReply, 'The agent, and its token, which is shown this once.'],
  [AuditKeyReply, 'The public key, in two forms.'],
  [AuditRecord, 'The record, with what came of the call where it is one.'],
  [AuditSeriesReply, 'How many calls there were in each part of the time asked for.'],
  [Connection, 'The connection as it is now, without its tokens.'],
  [StartConnectReply, 'Where the person gives consent, in a browser.'],
  [StartDeviceFlowReply, 'The code to enter, and where.'],
  [PollDeviceFlowReply, 'How far the person has come; the connection once it is there.'],
  [Device, 'The device as it is now.'],
  [DeviceChallengeReply, 'What the device has to sign.'],
  [PairingCodeReply, 'A code that pairs one device, once.'],
  [PairReply, 'The device, and the token of its session, which is shown this once.'],
  [Grant, 'The grant as it is now.'],
  [Receipt, 'What shows, without the service, that a person approved the grant.'],
  [HealthReply, 'How the service fares.'],
  [ProviderDetails, 'The provider as it is now, without its client secret.'],
  [Echo, 'What the request held, as it arrived.'],
  [StartSandboxReply, 'A grant on the echo, and a call to try it with.'],
  [CreateLoginTokenReply, 'A token that signs in once, and the link that carries it.'],
  [LoginPreviewReply, 'Whom the token would sign in, and until when.'],
  [LoginProvidersReply, 'The ways to sign in with a browser, also those that are off.'],
  [LoginReply, 'Who is signed in now; the session is in the cookie, and its token is shown this once.'],
  [LogoutAllReply, 'How many sessions have ended.'],
  [MeReply, 'Whose session it is, or whose device.'],
  [Session, 'The session as it is now.'],
  [User, 'The user as they are now.'],
  [PublicKeyReply, 'The key to encrypt envelopes to.'],
  [RegisterClientReply, 'The client, and its first challenge, encrypted to its key.'],
  [RefreshReply, 'The next challenge; the one that was used is gone.'],
  [RotateKeyReply, 'The next challenge, encrypted to the new key.'],
  [SaveReply, 'How many values were saved, and the next challenge.'],
  [ReadReply, 'The values, encrypted, and the next challenge.'],
])

interface AnswerSchema {
  description?: string
  properties?: Record<string, unknown>
}

/** Undefined where nobody has said it. */
export function describeAnswer(schema: AnswerSchema): string | undefined {
  return schema.description ?? sentences.get(schema) ?? describePage(schema)
}

function describePage({ properties = {} }: AnswerSchema): string | undefined {
  const [name, ...others] = Object.keys(properties).filter((member) => member !== 'next_cursor')
  if (name === undefined || others.length > 0 || !('next_cursor' in properties)) return undefined
  return `A page of ${name.replaceAll('_', ' ')}; next_cursor leads to the next one.`
}
