import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { onBothDatabases, temporaryFolder } from '../../../testkit/databases.ts'
import { fixedClock } from '../../../testkit/clock.ts'
import { keptKey } from '../../../testkit/kept-keys.ts'
import { startService } from '../../../testkit/service.ts'
import { stored } from '../../../testkit/stored.ts'
import { readConfig } from '../../config/config.ts'
import { newVapidKey, openVapidKey, vapidKeyOf } from './vapid-key.ts'
import { Secret } from '../secret.ts'
import { ConfigError, readSecret } from '../config/settings.ts'
import type { Environment } from '../config/settings.ts'

function problemsOf(env: Environment): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems
  }
}

function fileOf(t: TestContext, content: string): string {
  const file = join(temporaryFolder(t), 'file')
  writeFileSync(file, content)
  return file
}

const ec = (namedCurve: string) =>
  generateKeyPairSync('ec', { namedCurve }).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
const rsa = keptKey('fcm-account').export({ format: 'pem', type: 'pkcs8' }).toString()

const account = {
  project_id: 'a-project',
  private_key_id: 'key-1',
  private_key: rsa,
  client_email: 'push@a-project.iam.gserviceaccount.com',
  token_uri: 'https://oauth2.googleapis.com/token',
}

test("Apple's four settings go together", (t) => {
  const apns = {
    SALLYPORT_APNS_KEY_FILE: fileOf(t, ec('P-256')),
    SALLYPORT_APNS_KEY_ID: 'ABC123DEFG',
    SALLYPORT_APNS_TEAM_ID: 'TEAM123456',
    SALLYPORT_APNS_TOPIC: 'example.app',
  }
  assert.deepEqual(problemsOf(apns), [])
  assert.deepEqual(problemsOf({}), [])
  for (const name of Object.keys(apns)) {
    const [problem, ...others] = problemsOf({ ...apns, [name]: undefined })
    assert.ok(problem?.startsWith(`${name}: not set; APNs requires it together with`), problem)
    assert.deepEqual(others, [])
  }
})

test('an invalid key file stops the start, and the error names only the setting', (t) => {
  const wrongKeys = [ec('P-384'), rsa, 'no key', '']
  const paths = [...wrongKeys.map((content) => fileOf(t, content)), '/nowhere/key.p8', ec('P-256')]
  for (const path of paths) {
    const [problem] = problemsOf({ SALLYPORT_APNS_KEY_FILE: path })
    assert.match(problem ?? '', /^SALLYPORT_APNS_KEY_FILE must be the path of a readable file: an APNs \.p8 key/)
    assert.ok(!problem?.includes(path))
  }
  const wrongAccounts = [
    'no JSON',
    'null',
    ...Object.keys(account).map((name) => JSON.stringify({ ...account, [name]: undefined })),
    JSON.stringify({ ...account, private_key: ec('P-256') }),
    JSON.stringify({ ...account, token_uri: 'http://oauth2.googleapis.com/token' }),
  ]
  for (const content of wrongAccounts) {
    const [problem] = problemsOf({ SALLYPORT_FCM_CREDENTIALS_FILE: fileOf(t, content) })
    assert.match(problem ?? '', /^SALLYPORT_FCM_CREDENTIALS_FILE must be the path .*: the JSON credentials/, content)
  }
  const { fcmCredentialsFile } = readConfig({ SALLYPORT_FCM_CREDENTIALS_FILE: fileOf(t, JSON.stringify(account)) })
  assert.equal(fcmCredentialsFile?.projectId, 'a-project')
})

test('a VAPID key is a base64url private key of 32 bytes, with a subject to contact', () => {
  const { privateKey } = newVapidKey()
  assert.deepEqual(problemsOf({ SALLYPORT_VAPID_PRIVATE_KEY: privateKey.reveal() }), [])
  for (const wrong of ['A'.repeat(43), '_'.repeat(43), 'AAAA', `${privateKey.reveal()}A`, '+'.repeat(43)]) {
    const problems = problemsOf({ SALLYPORT_VAPID_PRIVATE_KEY: wrong })
    assert.deepEqual(problems, ['SALLYPORT_VAPID_PRIVATE_KEY must be a P-256 private key: 32 bytes in base64url.'])
  }
  for (const good of ['mailto:ops@example.com', 'https://example.com/contact'])
    assert.deepEqual(problemsOf({ SALLYPORT_VAPID_SUBJECT: good }), [])
  for (const wrong of ['ops@example.com', 'http://example.com', 'mailto:', 'mailto:ops'])
    assert.match(problemsOf({ SALLYPORT_VAPID_SUBJECT: wrong })[0] ?? '', /^SALLYPORT_VAPID_SUBJECT: got "/)
})

onBothDatabases('the VAPID key', (engine) => {
  test('is created once for all instances and stored encrypted', async (t) => {
    const service = await startService(t, engine)
    const { database, vault } = service
    const clock = fixedClock().now
    const given = readSecret('SALLYPORT_VAPID_PRIVATE_KEY', {})
    await database.queries.deleteFrom('vapid_keys').execute()
    const opened = await Promise.all(Array.from({ length: 8 }, () => openVapidKey({ database, vault, clock, given })))
    const [first] = opened
    assert.ok(first)
    assert.equal(new Set(opened.map(({ publicKey }) => publicKey)).size, 1)
    assert.equal(vapidKeyOf(first.privateKey)?.publicKey, first.publicKey)
    assert.equal((await openVapidKey({ database, vault, clock, given })).publicKey, first.publicKey)
    const disk = await stored(service)
    assert.ok(disk.includes(first.publicKey))
    assert.ok(!disk.includes(first.privateKey.reveal()))
    assert.ok(!disk.includes(Buffer.from(first.privateKey.reveal(), 'base64url')))
  })

  test('is the configured one, if there is one', async (t) => {
    const { publicKey, privateKey } = newVapidKey()
    const env = { SALLYPORT_VAPID_PRIVATE_KEY: privateKey.reveal() }
    const { database, vault } = await startService(t, engine, env)
    assert.deepEqual(await database.queries.selectFrom('vapid_keys').selectAll().execute(), [])
    const given = readSecret('SALLYPORT_VAPID_PRIVATE_KEY', env)
    assert.equal((await openVapidKey({ database, vault, clock: fixedClock().now, given })).publicKey, publicKey)
    assert.deepEqual(vapidKeyOf(new Secret('')), undefined)
  })
})
