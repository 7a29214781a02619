/** What people enter for Apps and service accounts: each mistake has a sentence of its own, and nothing is kept of it. */
import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startGitHubApp, startServiceAccount } from '../../testkit/minting.ts'
import { stored } from '../../testkit/stored.ts'
import { rsaKey } from '../../testkit/token-issuer.ts'

const pem = rsaKey('github')
const encrypted = { type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' } as const
const encryptedPkcs8 = { ...encrypted, type: 'pkcs8' } as const
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
/** The numbers of two keys. */
const mixed = () => {
  const jwk = { ...rsa.export({ format: 'jwk' }), n: createPrivateKey(pem).export({ format: 'jwk' }).n ?? '' }
  return createPrivateKey({ key: jwk, format: 'jwk' }).export({ type: 'pkcs1', format: 'pem' }).toString()
}

const wrongKeys: [pem: string, wrong: RegExp][] = [
  ['', /must not be empty/],
  ['ghp_0123456789012345678901234567890123456789', /not a private key in PEM format/],
  [pem.slice(0, 400), /not a private key in PEM format/],
  [pem.replaceAll('\n', ' '), /not a private key in PEM format/],
  [createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString(), /public key or a certificate/],
  [createPublicKey(pem).export({ type: 'pkcs1', format: 'pem' }).toString(), /public key or a certificate/],
  ['-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----', /public key or a certificate/],
  ['-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\n-----END OPENSSH PRIVATE KEY-----', /an OpenSSH key/],
  [rsa.export(encrypted).toString(), /encrypted with a passphrase/],
  [rsa.export(encryptedPkcs8).toString(), /encrypted with a passphrase/],
  [ec.export({ type: 'sec1', format: 'pem' }).toString(), /not an RSA key/],
  [rsaKey('small', { bits: 1024 }), /1024 bits/],
  [mixed(), /is damaged/],
  ['x'.repeat(20_000), /longer than/],
]

onBothDatabases('a private key', (engine) => {
  test('that is none, of another kind, too small or damaged is refused with a sentence of its own', async (t) => {
    const { server, connect, log, ...service } = await startGitHubApp(t, engine)
    const members: [object, string, RegExp][] = [
      ...wrongKeys.map(([private_key, wrong]): [object, string, RegExp] => [{ private_key }, 'private_key', wrong]),
      [{ app_id: 'my-app' }, 'app_id', /not the ID of an app/],
      [{ installation_id: '' }, 'installation_id', /must not be empty/],
      [{ installation_id: '../../user' }, 'installation_id', /not the ID of an installation/],
      [{ repositories: 'ada-labs/website' }, 'repositories', /without the owner/],
      [{ repositories: ' , ,' }, 'repositories', /without the owner/],
      [{ permissions: 'contents' }, 'permissions', /names and levels/],
      [{ permissions: 'contents:all' }, 'permissions', /names and levels/],
      [{ token: 'ghp_0123456789012345' }, 'token', /not a member of this credential/],
    ]
    for (const [member, name, wrong] of members) {
      const { status, body } = await connect({ ...server.credential, ...member })
      assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', `credential.${name}`])
      assert.match(body.error.message, wrong)
      assert.ok(body.error.message.length < 250)
    }
    const { private_key, ...rest } = server.credential
    const missing = await connect(rest)
    assert.deepEqual([missing.body.error.code, missing.body.error.field], ['missing_field', 'credential.private_key'])
    assert.equal(server.asked(), 0, 'GitHub is not asked')
    const kept = `${(await stored(service)).toString('latin1')}${log.join('')}`
    for (const secret of [private_key, ...wrongKeys.map(([one]) => one)].flatMap((one) => one.split('\n'))) {
      if (secret.length > 20 && !secret.startsWith('-----')) assert.ok(!kept.includes(secret))
    }
  })

  test('is accepted as PKCS#1 or PKCS#8, with what tools write around it, and stored without that', async (t) => {
    const { server, connect, call, user } = await startGitHubApp(t, engine)
    const pkcs8 = rsaKey('pkcs8', { type: 'pkcs8' })
    server.keys.set('3915', pkcs8)
    for (const private_key of [
      pkcs8,
      `Bag Attributes\r\n  friendlyName: app\r\n${pkcs8.replaceAll('\n', '\r\n')}\r\n`,
    ]) {
      const { status, body } = await connect({ ...server.credential, private_key })
      assert.equal(status, 201)
      await call('DELETE', `/v4/connections/${body.connection_id}`, { token: user.token })
    }
  })
})

onBothDatabases('a key file', (engine) => {
  test('of another kind, incomplete or damaged is refused with a sentence of its own', async (t) => {
    const { server, connect, log, ...service } = await startServiceAccount(t, engine)
    const withFile = (members: object) => JSON.stringify({ ...server.keyFile, ...members })
    const files: [file: string, wrong: RegExp][] = [
      ['', /must not be empty/],
      ['hello', /is not a JSON file/],
      [pem, /is not a JSON file/],
      ['"a string"', /is not a JSON file/],
      ['[]', /type "service_account"/],
      ['{}', /type "service_account"/],
      ['['.repeat(8000), /is not a JSON file/],
      [JSON.stringify({ web: { client_id: 'x', client_secret: 'GOCSPX-0123456789' } }), /an OAuth client/],
      [JSON.stringify({ installed: { client_id: 'x' } }), /an OAuth client/],
      [JSON.stringify({ type: 'authorized_user', refresh_token: '1//0123456789' }), /a user who has signed in/],
      [JSON.stringify({ type: 'external_account' }), /workload identity federation/],
      [JSON.stringify({ type: 'impersonated_service_account' }), /impersonated service account/],
      [withFile({ client_email: undefined }), /has no "client_email"/],
      [withFile({ client_email: ['a@b'] }), /has no "client_email"/],
      [withFile({ client_email: 'Ada\n<b>' }), /not the address of a service account/],
      [withFile({ private_key: undefined }), /has no "private_key"/],
      [withFile({ private_key_id: undefined }), /has no "private_key_id"/],
      [withFile({ private_key_id: '"}\u0000' }), /not the ID of a key/],
      ...wrongKeys.flatMap(([private_key, wrong]): [string, RegExp][] =>
        private_key === '' || private_key.length > 16_000
          ? []
          : [[withFile({ private_key }), new RegExp(`has a "private_key" that .*(?:${wrong.source})`)]],
      ),
    ]
    for (const [key_json, wrong] of files) {
      const { status, body } = await connect({ ...server.credential, key_json })
      assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', 'credential.key_json'])
      assert.match(body.error.message, wrong)
    }
    for (const [member, value, wrong] of [
      ['scopes', '', /must not be empty/],
      ['scopes', ' , ', /not a list of scopes/],
      ['scopes', 'drive"read', /not a list of scopes/],
      ['subject', 'ada', /not the e-mail address/],
      ['token_uri', 'https://evil.example/token', /not a member of this credential/],
    ] as const) {
      const { status, body } = await connect({ ...server.credential, [member]: value })
      assert.deepEqual([status, body.error.field], [400, `credential.${member}`])
      assert.match(body.error.message, wrong)
    }
    assert.equal(server.asked(), 0, 'Google is not asked')
    const kept = `${(await stored(service)).toString('latin1')}${log.join('')}`
    for (const secret of ['GOCSPX-0123456789', '1//0123456789', ...pem.split('\n').slice(1, 5)]) {
      assert.ok(!kept.includes(secret))
    }
  })
})
