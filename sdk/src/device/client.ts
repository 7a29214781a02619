import { followEvents } from '../events.ts'
import type { ServiceEvent } from '../events.ts'
import { listing } from '../listing.ts'
import type { Listing } from '../listing.ts'
import { createTransport, segment } from '../transport.ts'
import type { CallOptions, ClientOptions } from '../transport.ts'
import type * as wire from '../wire.ts'
import type { DeviceKeyPair } from './keys.ts'
import { signAction, signDecision } from './sign-decision.ts'
import type { Signature, Signed } from './sign-decision.ts'

export interface DeviceClientOptions extends ClientOptions {
  /** `session_token` of {@link pairDevice}. */
  sessionToken: string
  /** The key that it was paired with. Without one the device decides nothing. */
  key?: DeviceKeyPair | undefined
}

type Options = CallOptions | undefined
/** What an approval says beyond yes. All of it is signed. */
export type Decision = Omit<wire.ApproveBody, 'challenge_id' | 'signature'>
export type Denial = Omit<NonNullable<wire.DenyBody>, 'challenge_id' | 'signature'>
/** `off`: approval on a device is no longer required; `remove:{device_id}`; `enrol:{thumbprint}`. */
export type DeviceAction = 'off' | `remove:${string}` | `enrol:${string}`

export interface SigningOptions extends CallOptions {
  /** What was signed, and the signature, before both are sent: to be shown to the person. */
  onSigned?: ((signed: Signed) => void) | undefined
}

/** A paired device: sees what its person has to decide, and decides by signing. */
export interface DeviceClient {
  me: (options?: Options) => Promise<wire.MeReply>
  accessRequests: {
    pending: (query?: wire.PageQuery, options?: Options) => Listing<wire.AccessRequestPage, wire.AccessRequest>
    get: (accessRequestId: string, options?: Options) => Promise<wire.AccessRequest>
    /** Asks for a challenge that is tied to the decision, signs it, and sends both. */
    approve: (accessRequestId: string, decision: Decision, options?: SigningOptions) => Promise<wire.Grant>
    deny: (accessRequestId: string, denial?: Denial, options?: SigningOptions) => Promise<wire.AccessRequest>
    /** For those who sign by themselves. */
    challenge: (
      accessRequestId: string,
      decision?: wire.ChallengeBody,
      options?: Options,
    ) => Promise<wire.ChallengeReply>
  }
  connections: {
    list: (query?: wire.ListConnectionsQuery, options?: Options) => Listing<wire.ConnectionPage, wire.Connection>
  }
  devices: {
    /** Those of the same person. */
    list: (query?: wire.ListDevicesQuery, options?: Options) => Listing<wire.DevicePage, wire.Device>
  }
  /** This device's word on who may decide, for whoever sends it: `off` goes into the user's `auth.changeMe`. */
  sign: (action: DeviceAction, options?: Options) => Promise<Signature>
  /** Ends “approve on device only”, by this device's signature. */
  liftDeviceApproval: (options?: Options) => Promise<wire.MeReply>
  /** Lets another device of the same person decide, whose key has that thumbprint. */
  enrol: (deviceId: string, thumbprint: string, options?: Options) => Promise<wire.Device>
  /** Removes this device. Another one is removed by its person, with this one's word on `remove:{device_id}`. */
  unpair: (options?: Options) => Promise<wire.Device>
  setPushToken: (body: wire.PushTokenBody, options?: Options) => Promise<wire.Device>
  /** What has changed, as it changes. Connects again whenever the connection ends; ends when the signal is aborted. */
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
