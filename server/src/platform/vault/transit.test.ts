/** A real server that speaks the protocol of Vault's transit engine, and the ways in which it refuses. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { startTransit } from '../../../testkit/transit-server.ts'
import { readConfig } from '../../config/config.ts'
import { ConfigError } from '../config/settings.ts'
import { masterKeySource } from '../operations/instance.ts'
import { parseMasterKeys } from './master-keys.ts'
import { Secret } from '../secret.ts'
import { unwrapMasterKeys } from './transit.ts'

const newKey = () => randomBytes(32).toString('base64')
const idOf = (text: string) => parseMasterKeys(new Secret(text))[0]?.id
const idsIn = async (settings: Record<string, string>) =>
  (await masterKeySource(readConfig(settings)).read()).map(({ id }) => id)

async function problemOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => assert.fail('it was taken'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ConfigError, String(error))
  return error.message
}

test('the master key is what Vault decrypts, over TLS or on loopback', async (t) => {
  const authority = await sharedAuthority()
  const certificate = await authority.issue({ names: ['localhost'] })
  const key = newKey()
  const here = await startTransit(t)
  assert.deepEqual(await idsIn(here.settingsFor(key)), [idOf(key)])
  const secure = await startTransit(t, { certificate, host: 'localhost' })
  const trusting = { SALLYPORT_EGRESS_CA_FILE: authority.caFile }
  assert.deepEqual(await idsIn({ ...secure.settingsFor(key), ...trusting }), [idOf(key)])
  const problem = await problemOf(idsIn(secure.settingsFor(key)))
  assert.match(problem, /Vault \(localhost:\d+\) can't be used: localhost: (?:UNABLE|SELF|DEPTH)/)
  assert.equal(secure.asked(), 1)
})

test('several keys keep their order, and are asked for again each time', async (t) => {
  const server = await startTransit(t)
  const [fresh, old] = [newKey(), newKey()]
  const folder = temporaryFolder(t)
  const {
    SALLYPORT_MASTER_KEY: wrapped = '',
    SALLYPORT_VAULT_TOKEN: token = '',
    ...rest
  } = server.settingsFor(fresh, old)
  const [keyFile, tokenFile] = [join(folder, 'key'), join(folder, 'token')]
  writeFileSync(keyFile, wrapped)
  writeFileSync(tokenFile, 'hvs.expired')
  const source = masterKeySource(
    readConfig({ ...rest, SALLYPORT_MASTER_KEY_FILE: keyFile, SALLYPORT_VAULT_TOKEN_FILE: tokenFile }),
  )
  assert.match(await problemOf(source.read()), /answered 403\. Give SALLYPORT_VAULT_TOKEN a valid token/)
  writeFileSync(tokenFile, token)
  assert.deepEqual(
    (await source.read()).map(({ id }) => id),
    [idOf(fresh), idOf(old)],
  )
  // A rotation must not write plain keys to where the encrypted ones are.
  assert.equal(source.write, undefined)
  assert.equal(readFileSync(keyFile, 'utf8'), wrapped)
})

test('each refusal of Vault says what to do, and nothing of what was sent', async (t) => {
  const server = await startTransit(t)
  const key = newKey()
  const settings = server.settingsFor(key)
  const faults: [typeof server.fault, RegExp][] = [
    ['sealed', /answered 503\. It is sealed or not ready: unseal it/],
    [{ status: 404, body: '{}' }, /answered 404\. It has no transit\/decrypt\/sallyport: check the path/],
    [{ status: 307, body: '' }, /answered 307\. Expected 200/],
    [{ status: 200, body: `<html>${settings['SALLYPORT_VAULT_TOKEN']}` }, /has no data\.plaintext/],
    [{ status: 200, body: '{"data":{"plaintext":7}}' }, /has no data\.plaintext/],
    [{ status: 200, body: 'null' }, /has no data\.plaintext/],
    [{ status: 200, body: '{"data":{"plaintext":"c2hvcnQ="}}' }, /What Vault decrypted: a master key is not 32 bytes/],
    [{ status: 200, body: 'x'.repeat(100_000) }, /can't be used: .*body/],
  ]
  for (const [fault, expected] of faults) {
    server.fault = fault
    const problem = await problemOf(idsIn(settings))
    assert.match(problem, expected)
    for (const secret of Object.values(settings)) if (!secret.startsWith('http')) assert.ok(!problem.includes(secret))
    assert.ok(!problem.includes(key))
  }
  server.fault = undefined
  const another = await startTransit(t)
  const { SALLYPORT_MASTER_KEY = '' } = another.settingsFor(key)
  assert.match(await problemOf(idsIn({ ...settings, SALLYPORT_MASTER_KEY })), /answered 400\. It can't decrypt/)
})

test('a Vault that is silent or not there is given up', async (t) => {
  const server = await startTransit(t)
  server.fault = 'silent'
  const config = readConfig(server.settingsFor(newKey()))
  const endpoint = config.masterKeyVault ?? assert.fail()
  const limits = { connectMs: 100, firstByteMs: 100, wholeMs: 100, maxBytes: 1000 }
  assert.match(await problemOf(unwrapMasterKeys(config, endpoint, limits)), /can't be used: .*no answer in time/)
  const nowhere = new URL(endpoint.href.replace(/:\d+/, ':1'))
  assert.match(await problemOf(unwrapMasterKeys(config, nowhere)), /can't be used: .*ECONNREFUSED/)
})

test('settings that don’t fit together stop the start', () => {
  const url = 'https://vault.internal:8200/v1/transit/decrypt/sallyport'
  const whole = {
    ...{ SALLYPORT_MASTER_KEY_VAULT: url, SALLYPORT_MASTER_KEY: 'vault:v1:aGVsbG8=', SALLYPORT_VAULT_TOKEN: 'hvs.x' },
  }
  readConfig(whole)
  const cases: [Record<string, string>, RegExp][] = [
    [{ ...whole, SALLYPORT_VAULT_TOKEN: '' }, /SALLYPORT_VAULT_TOKEN must be set together/],
    [{ ...whole, SALLYPORT_MASTER_KEY: '' }, /SALLYPORT_MASTER_KEY must be set together/],
    [{ ...whole, SALLYPORT_MASTER_KEY: newKey() }, /must be what Vault encrypted/],
    [{ SALLYPORT_VAULT_TOKEN: 'hvs.x' }, /SALLYPORT_VAULT_TOKEN has no effect/],
    ...['http://vault.internal/v1/transit/decrypt/a', `${url}?a`, 'https://vault.internal/v1/transit', 'vault'].map(
      (text): [Record<string, string>, RegExp] => [
        { ...whole, SALLYPORT_MASTER_KEY_VAULT: text },
        /SALLYPORT_MASTER_KEY_VAULT: got .*; expected the https URL/,
      ],
    ),
  ]
  for (const [env, expected] of cases) assert.throws(() => readConfig(env), { message: expected })
})
