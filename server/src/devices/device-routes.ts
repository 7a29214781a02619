import { deviceMessage } from '@sallyport/protocol/approval-message'
import {
  Device as DeviceView,
  DeviceChallengeBody,
  DeviceChallengeReply,
  DevicePage,
  ListDevicesQuery,
  PairBody,
  PairingCodeReply,
  PairReply,
  SignedBody,
} from '@sallyport/protocol/devices'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import { actingDevice, actingPerson, actingUser, onBehalfOf } from '../authenticate.ts'
import { pageRequest } from '../platform/database/paging.ts'
import type { Http } from '../platform/http/http.ts'
import { readSigned } from './challenge.ts'
import type { DeviceApprovalNeeds } from './device-approval.ts'
import { deviceView } from './device-view.ts'
import { enrolDevice } from './enrol-device.ts'
import { issueChallenge } from './issue-challenge.ts'
import type { IssueChallengeNeeds } from './issue-challenge.ts'
import { issuePairingCode } from './issue-pairing-code.ts'
import type { IssuePairingCodeNeeds } from './issue-pairing-code.ts'
import { pair } from './pair.ts'
import type { PairNeeds } from './pair.ts'
import { revokeDevice } from './revoke-device.ts'

const tags = ['Devices']

type DeviceRoutesNeeds = IssuePairingCodeNeeds &
  PairNeeds &
  DeviceApprovalNeeds &
  IssueChallengeNeeds & {
    /** Browsers need it to subscribe to Web Push. */
    vapidPublicKey: string
  }

export function deviceRoutes(http: Http, needs: DeviceRoutesNeeds): void {
  const { database, devices, vapidPublicKey } = needs

  http.post(
    '/v4/devices/pairing-codes',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Create a code that pairs a device with this user',
        body: NoBody,
        response: { 201: PairingCodeReply },
      },
    },
    async (request, reply) => {
      const { user } = actingUser(request)
      const issued = await issuePairingCode(onBehalfOf(request, needs), user, request.id)
      return reply.code(201).send({
        pairing_code: issued.pairingCode.reveal(),
        expires_at: issued.expiresAt.toISOString(),
        pairing_url: issued.pairingUrl.reveal(),
      })
    },
  )

  http.post(
    '/v4/devices/pair',
    {
      config: { allow: 'anyone', startsSession: true },
      schema: { tags, summary: 'Pair this device', body: PairBody, response: { 201: PairReply } },
    },
    async ({ body, ip, id }, reply) => {
      const { device, sessionToken } = await pair(
        needs,
        {
          pairingCode: body.pairing_code,
          name: body.device_name,
          platform: body.platform ?? 'ios',
          publicKey: body.public_key_jwk,
        },
        { address: ip, requestId: id },
      )
      return reply.code(201).send({
        device: deviceView(device),
        session_token: sessionToken.reveal(),
        vapid_public_key: vapidPublicKey,
      })
    },
  )

  http.get(
    '/v4/devices',
    {
      config: { allow: ['user', 'device'] },
      schema: { tags, summary: 'List your devices', querystring: ListDevicesQuery, response: { 200: DevicePage } },
    },
    async (request) => {
      const { userId } = actingPerson(request).user
      const page = await devices.listOfUser(database.queries, userId, pageRequest(request.query))
      return { devices: page.records.map(deviceView), next_cursor: page.nextCursor }
    },
  )

  http.delete(
    '/v4/devices/:id',
    {
      config: { allow: ['user', 'device'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Remove a device; requires a signature ("remove:{device_id}") while approval on a device is required',
        params: IdInPath,
        body: SignedBody,
        response: { 200: DeviceView },
      },
    },
    async (request) => {
      const signed = readSigned(request.body)
      const by = actingPerson(request)
      return deviceView(await revokeDevice(onBehalfOf(request, needs), by, request.params.id, signed, request.id))
    },
  )

  http.post(
    '/v4/devices/challenge',
    {
      config: { allow: ['device'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Create a challenge for this device to sign, to change which devices can approve',
        body: DeviceChallengeBody,
        response: { 201: DeviceChallengeReply },
      },
    },
    async (request, reply) => {
      const { device, user } = actingDevice(request)
      const { action } = request.body
      const { challengeId, nonce, expiresAt } = await issueChallenge(onBehalfOf(request, needs), device, action)
      return reply.code(201).send({
        challenge_id: challengeId,
        nonce,
        expires_at: expiresAt.toISOString(),
        signing_input: deviceMessage(challengeId, nonce, user.userId, action),
      })
    },
  )

  http.post(
    '/v4/devices/:id/enrol',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags,
        summary:
          'Allow a device to approve; while approval on a device is required, signed ("enrol:{thumbprint}") by one that can',
        params: IdInPath,
        body: SignedBody,
        response: { 200: DeviceView },
      },
    },
    async (request) => {
      const signed = readSigned(request.body)
      const by = actingPerson(request)
      return deviceView(await enrolDevice(onBehalfOf(request, needs), by, request.params.id, signed, request.id))
    },
  )
}
