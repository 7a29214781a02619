import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startCallbackReceiver } from '../../testkit/callback-receiver.ts'
import { only, startCallbackTest, verified } from '../../testkit/callbacks.ts'
import { onBothDatabases, temporaryFolder } from '../../testkit/databases.ts'
import { testEgress } from '../../testkit/egress.ts'
import { ServiceError } from '../platform/errors.ts'
import { masterKeySource } from '../platform/operations/instance.ts'
import { Secret } from '../platform/secret.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { rotateKeys } from '../platform/vault/rotate.ts'
import { sealedColumns } from '../sealed-columns.ts'
import { judgeCallbackUrl, mintCallbackSecret, signatureOf } from './callback.ts'
import { failureOf, judgeAnswer } from './delivery-outcome.ts'

const hour = 3600
const now = new Date('2026-11-15T12:00:00.000Z')

test('a callback URL is an absolute https URL at an allowed address', (t) => {
  const egress = testEgress(t, { allow: ['hooks.internal:8443', '10.0.0.0/8'] })
  const allows = (text: string, href = text) => {
    assert.equal(judgeCallbackUrl(egress, text).href, href)
  }
  const refuses = (code: string, ...texts: string[]) => {
    for (const text of texts) {
      assert.throws(() => judgeCallbackUrl(egress, text), { code, field: 'callback_url' }, text)
    }
  }
  allows('https://agent.example/hooks?a=b&c=%23')
  allows('https://hooks.internal:8443/')
  allows('https://AGENT.example', 'https://agent.example/')
  allows(`https://agent.example/${'a'.repeat(1978)}`)
  refuses('invalid_url', `https://agent.example/${'a'.repeat(1979)}`)
  refuses('invalid_url', '', 'agent.example/hooks', '/hooks', 'https://', 'https://a b.example/', 'null')
  refuses('invalid_url', 'http://agent.example/', 'ftp://agent.example/', 'javascript:alert(1)', 'data:text/plain,a')
  refuses('invalid_url', 'https://ada:word@agent.example/', 'https://ada@agent.example/')
  refuses('invalid_url', 'https://agent.example/#here', 'https://agent.example/#', 'https://agent.example./')
  refuses(
    'address_not_allowed',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://169.254.169.254/',
    'https://10.0.0.1/',
  )
  refuses('address_not_allowed', 'https://agent.example:8443/', 'https://hooks.internal:8444/', 'https://0x7f000001/')
})

test('a secret is 32 random bytes in Standard Webhooks form and is never printed', () => {
  const secrets = Array.from({ length: 20 }, mintCallbackSecret)
  for (const secret of secrets) {
    assert.match(secret.reveal(), /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(`${String(secret)} ${JSON.stringify(secret)} ${inspect(secret)}`, '[REDACTED] "[REDACTED]" [REDACTED]')
  }
  assert.equal(new Set(secrets.map((secret) => secret.reveal())).size, 20)
})

test('the signature matches Standard Webhooks', () => {
  // The example of the reference implementations.
  const secret = new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const signed = signatureOf(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', '1614265330', '{"test": 2432232314}')
  assert.equal(signed, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  const minted = mintCallbackSecret()
  const body = '{"name":"Zoë"}'
  assert.equal(
    signatureOf(minted, 'dlv_1', String(now.getTime() / 1000), body),
    new Webhook(minted.reveal()).sign('dlv_1', now, body),
  )
})

test('2xx is success, 410 is final, redirects fail, and everything else is retried', () => {
  const judged = (status: number) => judgeAnswer({ status, headers: [] }, now)
  for (const status of [200, 201, 202, 204, 206, 299]) assert.equal(judged(status), undefined)
  assert.deepEqual(judged(410), { error: 'gone', isFinal: true })
  for (const status of [300, 301, 302, 303, 304, 307, 308]) {
    assert.deepEqual(judged(status), { error: 'redirect', isFinal: false })
  }
  for (const status of [400, 401, 404, 409, 500, 502, 599]) {
    assert.deepEqual(judged(status), { error: `http_${status}`, isFinal: false })
  }
})

test('Retry-After is honoured with 429 and 503, as seconds or a date, up to an hour', () => {
  const pauseOf = (wish: string, status = 429) => {
    const failure = judgeAnswer({ status, headers: [['Retry-After', wish]] }, now)
    return failure?.notBefore && failure.notBefore.getTime() - now.getTime()
  }
  assert.equal(pauseOf('120'), 120_000)
  assert.equal(pauseOf('120', 503), 120_000)
  assert.equal(pauseOf('120', 500), undefined)
  assert.equal(pauseOf('Sun, 15 Nov 2026 12:05:00 GMT'), 300_000)
  assert.equal(pauseOf('864000'), 3_600_000)
  assert.equal(pauseOf('Sun, 15 Nov 2099 12:05:00 GMT'), 3_600_000)
  for (const wish of ['', '0', '-1', 'soon', '1e99', '9'.repeat(400), 'Sun, 15 Nov 2020 12:05:00 GMT']) {
    assert.equal(pauseOf(wish), undefined, wish)
  }
})

test('delivery errors are reported as coarse codes, and internal errors reveal nothing', () => {
  const told = (cause: unknown) => failureOf(cause).error
  assert.equal(told(new ServiceError('upstream_timeout')), 'timeout')
  assert.equal(told(new ServiceError('upstream_unreachable')), 'unreachable')
  assert.equal(told(new ServiceError('upstream_tls_error')), 'tls_error')
  assert.equal(told(new ServiceError('upstream_body_too_large')), 'invalid_response')
  assert.equal(told(new ServiceError('address_not_allowed')), 'address_not_allowed')
  assert.equal(told(new ServiceError('not_ready', { detail: 'data key 1 is gone' })), 'internal')
  assert.equal(told(new Error('anything')), 'internal')
  assert.equal(told(undefined), 'internal')
})

onBothDatabases('stored callbacks', (engine) => {
  test('after a lease expired, a late failure changes nothing and a late delivery counts', async (t) => {
    const { decided, state, callbacks, database, clock } = await startCallbackTest(t, engine, [])
    const asked = await decided(new URL('https://agent.example/'))
    const claim = () =>
      callbacks.claim(database, {
        ...{ now: clock.now(), until: new Date(clock.now().getTime() + 30_000), limit: 20, perAgent: 5 },
      })
    const late = only(await claim())
    clock.advance(30)
    const current = only(await claim())
    await callbacks.postpone(database.queries, late, clock.now(), 'timeout')
    assert.equal(await callbacks.end(database.queries, late, { error: 'timeout' }), false)
    assert.deepEqual(await state(asked), { status: 'pending', attempts: 2, lastError: null })
    assert.deepEqual(await claim(), [], 'the lease still holds')
    assert.equal(await callbacks.end(database.queries, late, { error: null }), true)
    assert.equal(await callbacks.end(database.queries, current, { error: 'timeout' }), false)
    assert.equal((await state(asked))?.status, 'delivered')
  })

  test('a secret still signs after a key rotation', async (t) => {
    const keyFile = join(temporaryFolder(t), 'master-key')
    writeFileSync(keyFile, newMasterKey().text.reveal(), { mode: 0o600 })
    const receiver = await startCallbackReceiver(t)
    const settings = { SALLYPORT_MASTER_KEY: undefined, SALLYPORT_MASTER_KEY_FILE: keyFile }
    const test = await startCallbackTest(t, engine, [receiver], settings)
    const { database, vault, config, clock, decided, deliverer } = test
    const asked = await decided(receiver.url)
    const sealed = () => database.queries.selectFrom('callbacks').select('secret_key_id').executeTakeFirstOrThrow()
    const before = await sealed()
    const needs = { database, vault, source: masterKeySource(config), sealedColumns, newMasterKey, clock: clock.now }
    await rotateKeys({ ...needs, onProgress: () => undefined })
    assert.notDeepEqual(await sealed(), before)
    await deliverer().due()
    assert.deepEqual(verified(asked.secret, only(receiver.received), clock.now()), asked.payload)
  })

  test('callbacks are deleted with their access requests, and when those expire', async (t) => {
    const { ask, decided, state, callbacks, database, clock } = await startCallbackTest(t, engine, [])
    const url = new URL('https://agent.example/')
    const [waiting, pending, dropped] = [await ask(url), await decided(url), await ask(url)]
    clock.advance(48 * hour)
    const fresh = await ask(url)
    await database.transaction(async (tx) => {
      await callbacks.dropOf(tx, [])
      await callbacks.dropOf(tx, [dropped.accessRequestId])
      assert.equal(await callbacks.stateOf(tx, dropped.accessRequestId), undefined)
      assert.equal((await callbacks.stateOf(tx, waiting.accessRequestId))?.status, 'waiting')
      await callbacks.dropWaitingBefore(tx, new Date(clock.now().getTime() - 25 * hour * 1000))
    })
    const states = await Promise.all([waiting, pending, fresh].map(state))
    assert.deepEqual(
      states.map((one) => one?.status),
      [undefined, 'pending', 'waiting'],
    )
  })
})
