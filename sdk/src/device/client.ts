import type { Verdict } from '@sallyport/protocol/approval-message'
import { followEvents } from '../events.ts'
import type { ServiceEvent } from '../events.ts'
import { listing } from '../listing.ts'
import type { Listing } from '../listing.ts'
import { createTransport, segment } from '../transport.ts'
import type { CallOptions, ClientOptions } from '../transport.ts'
import type * as wire from '../wire.ts'
import type { DeviceKeyPair } from './keys.ts'
import { assertDigest, signCall } from './sign-call.ts'
import type { ShownCall } from './sign-call.ts'
import { signAction, signDecision } from './sign-decision.ts'
import { untrue } from './untrue.ts'
import type { Signature, Signed } from './sign-decision.ts'

export interface DeviceClientOptions extends ClientOptions {
  /** `session_token` of {@link pairDevice}. */
  sessionToken: string
  /** The key that the device was paired with. Without it the device can't approve or sign. */
  key?: DeviceKeyPair | undefined
}

type Options = CallOptions | undefined
/** The terms of an approval. All of them are signed. */
export type Decision = Omit<wire.ApproveBody, 'challenge_id' | 'signature'>
export type Denial = Omit<NonNullable<wire.DenyBody>, 'challenge_id' | 'signature'>
/**
 * What to sign. `off`: device approval is no longer required. `remove:{device_id}`: removes a device.
 * `enrol:{thumbprint}`: allows a device with this key to approve.
 */
export type DeviceAction = 'off' | `remove:${string}` | `enrol:${string}`

/** The new terms of a grant. All of them are signed. */
export type GrantChange = Omit<wire.ChangeGrantBody, 'challenge_id' | 'signature'>

/** Everything that a decision on a call contains beyond its signature. */
export type CallDecision = Pick<NonNullable<wire.ApproveCallBody>, 'repeat_for_seconds'>
export type CallDenial = Pick<NonNullable<wire.DenyCallBody>, 'reason'>

export interface SigningOptions extends CallOptions {
  /** Called with the signed text and the signature before they are sent, to show them to the user. */
  onSigned?: ((signed: Signed) => void) | undefined
}

/** Client for a paired device: it shows the user's pending requests, and signs decisions. */
export interface DeviceClient {
  me: (options?: Options) => Promise<wire.MeReply>
  accessRequests: {
    pending: (query?: wire.PageQuery, options?: Options) => Listing<wire.AccessRequestPage, wire.AccessRequest>
    get: (accessRequestId: string, options?: Options) => Promise<wire.AccessRequest>
    /** Gets a challenge for this decision, signs it and sends both. */
    approve: (accessRequestId: string, decision: Decision, options?: SigningOptions) => Promise<wire.Grant>
    deny: (accessRequestId: string, denial?: Denial, options?: SigningOptions) => Promise<wire.AccessRequest>
    /** Gets a challenge for callers that sign decisions themselves. */
    challenge: (
      accessRequestId: string,
      decision?: wire.ChallengeBody,
      options?: Options,
    ) => Promise<wire.ChallengeReply>
  }
  /** Calls that wait for the user's decision, or did. A decision is signed for the call as it was shown. */
  calls: {
    list: (query?: wire.ListCallsQuery, options?: Options) => Listing<wire.PersonCallPage, wire.PersonCall>
    get: (callId: string, options?: Options) => Promise<wire.PersonCall>
    approve: (call: ShownCall, decision?: CallDecision, options?: SigningOptions) => Promise<wire.PersonCall>
    deny: (call: ShownCall, denial?: CallDenial, options?: SigningOptions) => Promise<wire.PersonCall>
    /** Decides several calls, each with a signature of its own. Destructive ones have to be decided one by one. */
    decide: (calls: readonly ShownCall[], verdict: Verdict, options?: Options) => Promise<wire.DecideCallsReply>
  }
  grants: {
    /** Changes the terms of a grant, signed by this device. `grant.access_request_id` is what the signature is for. */
    change: (
      grant: Pick<wire.Grant, 'grant_id' | 'access_request_id'>,
      change: GrantChange,
      options?: SigningOptions,
    ) => Promise<wire.Grant>
  }
  connections: {
    list: (query?: wire.ListConnectionsQuery, options?: Options) => Listing<wire.ConnectionPage, wire.Connection>
  }
  devices: {
    /** All devices of this user. */
    list: (query?: wire.ListDevicesQuery, options?: Options) => Listing<wire.DevicePage, wire.Device>
  }
  /**
   * Signs a change to the user's devices. The result is sent with the change: for `off`, in the user's `auth.changeMe`.
   */
  sign: (action: DeviceAction, options?: Options) => Promise<Signature>
  /** Turns off “approve on device only”, signed by this device. */
  liftDeviceApproval: (options?: Options) => Promise<wire.MeReply>
  /** Allows another device of this user to approve. `thumbprint` is that of its key. */
  enrol: (deviceId: string, thumbprint: string, options?: Options) => Promise<wire.Device>
  /** Removes another device of this user, signed by this one. */
  remove: (deviceId: string, options?: Options) => Promise<wire.Device>
  /** Removes this device. */
  unpair: (options?: Options) => Promise<wire.Device>
  setPushToken: (body: wire.PushTokenBody, options?: Options) => Promise<wire.Device>
  /** Streams changes as they happen. Reconnects when the connection is lost, and ends when the signal is aborted. */
  events: (options?: CallOptions) => AsyncGenerator<ServiceEvent, void, undefined>
}

export function createDeviceClient({ sessionToken, key, ...service }: DeviceClientOptions): DeviceClient {
  const transport = createTransport(service, sessionToken)
  const get = <T>(path: string, options: Options) => transport.json<T>({ method: 'GET', path }, options)
  const post = <T>(path: string, body: unknown, options: Options) =>
    transport.json<T>({ method: 'POST', path, body }, options)
  const requestPath = (id: string) => `/v4/access-requests/${segment(id)}`
  const challenge = (id: string, decision: object | undefined, options: Options) =>
    post<wire.ChallengeReply>(`${requestPath(id)}/challenge`, decision ?? {}, options)
  const me = (options: Options) => get<wire.MeReply>('/v4/auth/me', options)

  const callPath = (id: string) => `/v4/calls/${segment(id)}`

  async function signedCall(
    call: ShownCall,
    verdict: Verdict,
    { repeat_for_seconds: repeat }: CallDecision,
    options: Options,
  ): Promise<Signed> {
    const own = ownKey(key)
    await assertDigest(call)
    const body = repeat === undefined ? {} : { repeat_for_seconds: repeat }
    const challenge = await post<wire.CallChallengeReply>(`${callPath(call.call_id)}/challenge`, body, options)
    return signCall(own, challenge, call, verdict, repeat ?? null)
  }

  async function sign(action: DeviceAction, options: Options): Promise<Signature> {
    const own = ownKey(key)
    const { user } = await me(options)
    const given = await post<wire.DeviceChallengeReply>('/v4/devices/challenge', { action }, options)
    return signAction(own, given, user.user_id, action)
  }

  return {
    me,
    accessRequests: {
      pending: (query, options) =>
        listing<wire.AccessRequestPage, 'access_requests'>(
          transport,
          '/v4/access-requests/pending',
          'access_requests',
          query,
          options,
        ),
      get: (id, options) => get(requestPath(id), options),
      challenge,
      approve: async (id, decision, { onSigned, ...options } = {}) => {
        const own = ownKey(key)
        const signed = await signDecision(own, await challenge(id, decision, options), id, 'approve', decision)
        onSigned?.(signed)
        return post(`${requestPath(id)}/approve`, { ...decision, ...signatureOf(signed) }, options)
      },
      deny: async (id, denial, { onSigned, ...options } = {}) => {
        const signed = key && (await signDecision(key, await challenge(id, undefined, options), id, 'deny'))
        if (signed) onSigned?.(signed)
        return post(`${requestPath(id)}/deny`, { ...denial, ...(signed && signatureOf(signed)) }, options)
      },
    },
    grants: {
      change: async ({ grant_id: id, access_request_id: requestId }, change, { onSigned, ...options } = {}) => {
        const own = ownKey(key)
        if (requestId === null) throw untrue('The grant did not come from an access request.')
        const path = `/v4/grants/${segment(id)}`
        const given = await post<wire.GrantChallengeReply>(`${path}/challenge`, change, options)
        const signed = await signDecision(own, given, requestId, 'approve', change)
        onSigned?.(signed)
        return transport.json({ method: 'PATCH', path, body: { ...change, ...signatureOf(signed) } }, options)
      },
    },
    calls: {
      list: (query, options) => listing<wire.PersonCallPage, 'calls'>(transport, '/v4/calls', 'calls', query, options),
      get: (id, options) => get(callPath(id), options),
      approve: async (call, decision = {}, { onSigned, ...options } = {}) => {
        const signed = await signedCall(call, 'approve', decision, options)
        onSigned?.(signed)
        const body = { digest: call.digest, ...decision, ...signatureOf(signed) }
        return post(`${callPath(call.call_id)}/approve`, body, options)
      },
      deny: async (call, denial, { onSigned, ...options } = {}) => {
        const signed = key && (await signedCall(call, 'deny', {}, options))
        if (signed) onSigned?.(signed)
        return post(`${callPath(call.call_id)}/deny`, { ...denial, ...(signed && signatureOf(signed)) }, options)
      },
      decide: async (calls, verdict, options) => {
        const decisions = await Promise.all(
          calls.map(async (call) => ({
            call_id: call.call_id,
            digest: call.digest,
            verdict,
            ...signatureOf(await signedCall(call, verdict, {}, options)),
          })),
        )
        return post('/v4/calls/decide', { decisions }, options)
      },
    },
    connections: {
      list: (query, options) =>
        listing<wire.ConnectionPage, 'connections'>(transport, '/v4/connections', 'connections', query, options),
    },
    devices: {
      list: (query, options) =>
        listing<wire.DevicePage, 'devices'>(transport, '/v4/devices', 'devices', query, options),
    },
    sign,
    liftDeviceApproval: async (options) => {
      const body = { require_device_approval: false, ...(await sign('off', options)) }
      return transport.json({ method: 'PATCH', path: '/v4/auth/me', body }, options)
    },
    enrol: async (id, thumbprint, options) =>
      post(`/v4/devices/${segment(id)}/enrol`, await sign(`enrol:${thumbprint}`, options), options),
    remove: async (id, options) =>
      transport.json(
        { method: 'DELETE', path: `/v4/devices/${segment(id)}`, body: await sign(`remove:${id}`, options) },
        options,
      ),
    unpair: async (options) => {
      const { user, device } = await me(options)
      const id = device?.device_id ?? ''
      const body =
        user.require_device_approval && device?.key?.enrolled ? await sign(`remove:${id}`, options) : undefined
      return transport.json({ method: 'DELETE', path: `/v4/devices/${segment(id)}`, body }, options)
    },
    setPushToken: async (body, options) => {
      const { device } = await me(options)
      return post(`/v4/devices/${segment(device?.device_id ?? '')}/push-token`, body, options)
    },
    events: (options) => followEvents(transport, options),
  }
}

function signatureOf({ challenge_id, signature }: Signed): Signature {
  return { challenge_id, signature }
}

function ownKey(key: DeviceKeyPair | undefined): DeviceKeyPair {
  if (!key) throw new TypeError('This device has no key to sign with.')
  return key
}
