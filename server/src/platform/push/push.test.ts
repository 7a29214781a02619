import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { apnsTopic, startApnsServer } from '../../../testkit/apns-server.ts'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { fixedClock } from '../../../testkit/clock.ts'
import type { FixedClock } from '../../../testkit/clock.ts'
import { leadingTo, testEgress } from '../../../testkit/egress.ts'
import { startFcmServer } from '../../../testkit/fcm-server.ts'
import { startRawTls } from '../../../testkit/tls-upstream.ts'
import { startWebPushServer } from '../../../testkit/web-push-server.ts'
import { readConfig } from '../../config/config.ts'
import type { Lookup } from '../egress/resolver.ts'
import { Secret } from '../secret.ts'
import type { Environment } from '../config/settings.ts'
import type { Notification, PushOutcome } from './push-service.ts'
import { createPush } from './push.ts'
import { newVapidKey } from './vapid-key.ts'

interface Server {
  host: string
  caPem: string
  settings?: Environment
}

function pushTo(
  t: TestContext,
  server: Server,
  {
    clock = fixedClock(),
    lookup,
    alsoAllowed = [],
  }: { clock?: FixedClock; lookup?: Lookup; alsoAllowed?: string[] } = {},
) {
  const egress = testEgress(t, { allow: [server.host, ...alsoAllowed], caPem: server.caPem, ...(lookup && { lookup }) })
  const config = readConfig({ SALLYPORT_VAPID_SUBJECT: 'mailto:ops@sallyport.example', ...server.settings })
  const push = createPush({ config, egress, clock: clock.now, vapid })
  const note = (more: Partial<Notification> = {}): Notification => ({
    title: 'An agent asks',
    body: 'It wants to read your calendar',
    data: { access_request_id: 'arq_1', url: 'https://sallyport.example/approve/arq_1' },
    collapseId: 'arq_1',
    expiresAt: new Date(clock.now().getTime() + 3_600_000),
    ...more,
  })
  return {
    apns: (token = phone, more?: Partial<Notification>) =>
      push.send({ service: 'apns', token: new Secret(token), environment: 'production' }, note(more)),
    fcm: (token = 'android-token', more?: Partial<Notification>) =>
      push.send({ service: 'fcm', token: new Secret(token) }, note(more)),
    web: (token: string, more?: Partial<Notification>) =>
      push.send({ service: 'web', token: new Secret(token) }, note(more)),
  }
}

const phone = 'ab'.repeat(32)
const vapid = newVapidKey()

const kindOf = (outcome: PushOutcome) => ('reason' in outcome ? [outcome.kind, outcome.reason] : [outcome.kind])

test('APNs gets the notification, its expiry and topic, with a signed provider token', async (t) => {
  const server = await startApnsServer(t, fixedClock().now)
  const push = pushTo(t, server)
  assert.deepEqual(await push.apns(), { kind: 'sent' })
  const [sent] = server.received
  assert.equal(sent?.token, phone)
  assert.equal(sent.headers['apns-topic'], apnsTopic)
  assert.equal(sent.headers['apns-expiration'], String(Date.parse('2026-11-15T13:00:00Z') / 1000))
  assert.equal(sent.headers['apns-collapse-id'], 'arq_1')
  assert.deepEqual(sent.payload, {
    aps: { alert: { title: 'An agent asks', body: 'It wants to read your calendar' }, sound: 'default' },
    access_request_id: 'arq_1',
    url: 'https://sallyport.example/approve/arq_1',
  })
})

test('a hundred pushes share one connection and one provider token', async (t) => {
  const server = await startApnsServer(t, fixedClock().now)
  const push = pushTo(t, server)
  for (let count = 0; count < 10; count++) {
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => push.apns()))
    assert.deepEqual(new Set(outcomes.map(({ kind }) => kind)), new Set(['sent']))
  }
  assert.equal(server.received.length, 100)
  assert.equal(server.connections(), 1)
  assert.equal(new Set(server.received.map(({ providerToken }) => providerToken)).size, 1)
})

test('each APNs response maps to an outcome', async (t) => {
  const server = await startApnsServer(t, fixedClock().now)
  const push = pushTo(t, server)
  const cases: [number, string, PushOutcome['kind']][] = [
    [400, 'BadDeviceToken', 'gone'],
    [400, 'DeviceTokenNotForTopic', 'refused'],
    [400, 'BadMessageId', 'refused'],
    [403, 'InvalidProviderToken', 'refused'],
    [405, 'MethodNotAllowed', 'refused'],
    [410, 'Unregistered', 'gone'],
    [429, 'TooManyRequests', 'later'],
    [500, 'InternalServerError', 'later'],
    [503, 'Shutdown', 'later'],
  ]
  for (const [status, reason, kind] of cases) {
    server.answers.push({ status, reason })
    assert.deepEqual(await push.apns(), { kind, reason })
  }
  server.answers.push({ status: 429, reason: 'TooManyRequests', headers: { 'retry-after': '120' } })
  const notBefore = new Date('2026-11-15T12:02:00.000Z')
  assert.deepEqual(await push.apns(), { kind: 'later', reason: 'TooManyRequests', notBefore })
  server.answers.push({ status: 400, reason: `the token ${phone} is bad` })
  assert.deepEqual(await push.apns(), { kind: 'refused', reason: 'status_400' })
  assert.deepEqual(await push.apns(), { kind: 'sent' })
  assert.equal(server.connections(), 1)
})

test('a new connection is opened after a break or a GOAWAY', async (t) => {
  const server = await startApnsServer(t, fixedClock().now)
  const push = pushTo(t, server)
  assert.deepEqual(await push.apns(), { kind: 'sent' })
  server.answers.push('lost')
  assert.deepEqual(await push.apns(), { kind: 'later', reason: 'upstream_unreachable' })
  assert.deepEqual(await push.apns(), { kind: 'sent' })
  assert.equal(server.connections(), 2)
  server.answers.push('goaway')
  assert.deepEqual(await push.apns(), { kind: 'sent' })
  assert.deepEqual(await push.apns(), { kind: 'sent' })
  assert.equal(server.connections(), 3)
  // A push that the GOAWAY excludes may be sent again immediately, on the next connection.
  server.answers.push('goaway-untaken')
  assert.deepEqual(await push.apns(), { kind: 'sent' })
  assert.equal(server.connections(), 4)
})

test('a provider token is renewed after 40 minutes, and once if APNs reports it expired', async (t) => {
  const clock = fixedClock()
  const server = await startApnsServer(t, clock.now)
  const push = pushTo(t, server, { clock })
  const tokens = () => new Set(server.received.map(({ providerToken }) => providerToken)).size
  await push.apns()
  clock.advance(39 * 60)
  await push.apns()
  assert.equal(tokens(), 1)
  clock.advance(61)
  assert.deepEqual(await push.apns(), { kind: 'sent' })
  assert.equal(tokens(), 2)
  // Many are refused at once; one new token serves them all.
  clock.advance(60)
  const expired = { status: 403, reason: 'ExpiredProviderToken' }
  server.answers.push(expired, expired, expired)
  const outcomes = await Promise.all([push.apns(), push.apns(), push.apns()])
  assert.deepEqual(outcomes.map(kindOf), [['sent'], ['sent'], ['sent']])
  assert.equal(tokens(), 3)
  clock.advance(60)
  server.answers.push(expired, expired)
  assert.deepEqual(await push.apns(), { kind: 'refused', reason: 'ExpiredProviderToken' })
})

test('a push too large for APNs is not sent, and a long collapse id is truncated', async (t) => {
  const server = await startApnsServer(t, fixedClock().now)
  const push = pushTo(t, server)
  assert.deepEqual(await push.apns(phone, { body: 'é'.repeat(2048) }), { kind: 'refused', reason: 'payload_too_large' })
  assert.equal(server.connections(), 0)
  assert.deepEqual(await push.apns(phone, { collapseId: 'x'.repeat(65) }), { kind: 'sent' })
  assert.match(String(server.received[0]?.headers['apns-collapse-id']), /^[\w-]{43}$/)
})

test('an APNs server without HTTP/2 gets no push', async (t) => {
  const server = await startWebPushServer(t)
  const apns = await startApnsServer(t, fixedClock().now)
  const settings = { ...apns.settings, SALLYPORT_APNS_URL: `https://${server.host}` }
  assert.deepEqual(await pushTo(t, { ...server, settings }).apns(), { kind: 'later', reason: 'upstream_tls_error' })
  // A server without ALPN would be treated as HTTP/1.1.
  const authority = await sharedAuthority()
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1', '::1'] })
  const { port } = await startRawTls(t, certificate, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
  })
  const silent = { host: `localhost:${port}`, caPem: authority.caPem }
  const there = { ...apns.settings, SALLYPORT_APNS_URL: `https://${silent.host}` }
  const outcome = await pushTo(t, { ...silent, settings: there }).apns()
  assert.deepEqual(outcome, { kind: 'later', reason: 'upstream_tls_error' })
})

test('FCM gets the same notification, with one access token for all pushes', async (t) => {
  const clock = fixedClock()
  const server = await startFcmServer(t, clock.now)
  const push = pushTo(t, server, { clock })
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => push.fcm()))
  assert.deepEqual(new Set(outcomes.map(({ kind }) => kind)), new Set(['sent']))
  assert.equal(server.tokensIssued(), 1)
  assert.deepEqual(server.received[0], {
    token: 'android-token',
    notification: { title: 'An agent asks', body: 'It wants to read your calendar' },
    data: { access_request_id: 'arq_1', url: 'https://sallyport.example/approve/arq_1' },
    android: { priority: 'HIGH', collapse_key: 'arq_1', ttl: '3600s' },
  })
  clock.advance(3600)
  assert.deepEqual(await push.fcm(), { kind: 'sent' })
  assert.equal(server.tokensIssued(), 2)
  server.endTokens()
  assert.deepEqual(await push.fcm(), { kind: 'sent' })
  assert.equal(server.tokensIssued(), 3)
})

test('each FCM response maps to an outcome', async (t) => {
  const server = await startFcmServer(t, fixedClock().now)
  const push = pushTo(t, server)
  const answer = (status: number, code: string, more: object = {}) => ({
    status,
    body: { error: { code: status, status: code, ...more } },
  })
  const fcmError = (errorCode: string) => ({ details: [{ '@type': 'google.firebase.fcm.v1.FcmError', errorCode }] })
  const badToken = { message: 'The registration token is not a valid FCM registration token' }
  const violation = (field: string) => ({ details: [{ fieldViolations: [{ field, description: 'Invalid' }] }] })
  const cases: [ReturnType<typeof answer>, PushOutcome['kind'], string][] = [
    [answer(404, 'NOT_FOUND', fcmError('UNREGISTERED')), 'gone', 'UNREGISTERED'],
    [answer(404, 'NOT_FOUND'), 'refused', 'NOT_FOUND'],
    [answer(400, 'INVALID_ARGUMENT', { ...badToken, ...fcmError('INVALID_ARGUMENT') }), 'gone', 'INVALID_ARGUMENT'],
    [answer(400, 'INVALID_ARGUMENT', violation('message.token')), 'gone', 'INVALID_ARGUMENT'],
    [answer(400, 'INVALID_ARGUMENT', violation('message.data[0].value')), 'refused', 'INVALID_ARGUMENT'],
    [answer(403, 'PERMISSION_DENIED', fcmError('SENDER_ID_MISMATCH')), 'refused', 'SENDER_ID_MISMATCH'],
    [answer(429, 'RESOURCE_EXHAUSTED', fcmError('QUOTA_EXCEEDED')), 'later', 'QUOTA_EXCEEDED'],
    [answer(503, 'UNAVAILABLE'), 'later', 'UNAVAILABLE'],
    [{ status: 500, body: {} as never }, 'later', 'status_500'],
    [answer(400, 'INVALID_ARGUMENT', { details: [null] }), 'refused', 'INVALID_ARGUMENT'],
    [answer(400, 'INVALID_ARGUMENT', { details: [{ fieldViolations: [null] }] }), 'refused', 'INVALID_ARGUMENT'],
  ]
  for (const [planned, kind, reason] of cases) {
    server.answers.push(planned)
    assert.deepEqual(await push.fcm(), { kind, reason })
  }
})

test('without an access token nothing is sent to FCM, and only temporary failures are retried', async (t) => {
  const server = await startFcmServer(t, fixedClock().now)
  const push = pushTo(t, server)
  server.tokenAnswers.push({ status: 400, body: { error: 'invalid_grant' } }, { status: 503, body: {} })
  assert.deepEqual(await push.fcm(), { kind: 'refused', reason: 'token_invalid_grant' })
  assert.deepEqual(await push.fcm(), { kind: 'later', reason: 'token_status_503' })
  assert.deepEqual(await push.fcm(), { kind: 'sent' })
})

test('a Web Push can be decrypted by the browser and is signed with the VAPID key', async (t) => {
  const server = await startWebPushServer(t)
  const browser = server.subscribe()
  assert.deepEqual(await pushTo(t, server).web(browser.token), { kind: 'sent' })
  assert.deepEqual(
    browser.received.map((text) => JSON.parse(text) as unknown),
    [
      {
        access_request_id: 'arq_1',
        url: 'https://sallyport.example/approve/arq_1',
        title: 'An agent asks',
        body: 'It wants to read your calendar',
      },
    ],
  )
  assert.deepEqual(server.sender(), { publicKey: vapid.publicKey, subject: 'mailto:ops@sallyport.example' })
  const { ttl, urgency, topic } = server.headers()
  assert.deepEqual({ ttl, urgency, topic }, { ttl: '3600', urgency: 'high', topic: 'arq_1' })
})

test('each Web Push response maps to an outcome', async (t) => {
  const server = await startWebPushServer(t)
  const browser = server.subscribe()
  const push = pushTo(t, server)
  const cases: [number, PushOutcome['kind']][] = [
    [301, 'refused'],
    [403, 'refused'],
    [404, 'gone'],
    [410, 'gone'],
    [413, 'refused'],
    [429, 'later'],
    [502, 'later'],
  ]
  for (const [status, kind] of cases) {
    server.answers.push({ status, headers: { location: 'https://elsewhere.example' } })
    assert.deepEqual(await push.web(browser.token), { kind, reason: `status_${status}` })
  }
  assert.deepEqual(browser.received, [])
})

test('a subscription URL that resolves to a private address is refused', async (t) => {
  const server = await startWebPushServer(t)
  const { token } = server.subscribe()
  // The name was public at the subscription and now resolves to a private address. A listed range applies only to the
  // operator's own URLs, not to those of a paired browser.
  const moved = token.replaceAll(server.host, 'push.example')
  const push = pushTo(t, server, { lookup: leadingTo(['127.0.0.1']), alsoAllowed: ['127.0.0.0/8'] })
  assert.deepEqual(await push.web(moved), { kind: 'refused', reason: 'address_not_allowed' })
  for (const host of ['127.0.0.1', '169.254.169.254', '[::1]', 'push.example:8443']) {
    const outcome = await push.web(token.replaceAll(server.host, host))
    assert.deepEqual(outcome, { kind: 'refused', reason: 'address_not_allowed' }, host)
  }
  assert.equal(server.connections(), 0)
})

test('a push service that is not configured gets no push', async (t) => {
  const push = pushTo(t, await startWebPushServer(t))
  assert.deepEqual(await push.apns(), { kind: 'refused', reason: 'service_not_set_up' })
  assert.deepEqual(await push.fcm(), { kind: 'refused', reason: 'service_not_set_up' })
})
