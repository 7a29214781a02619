/** `keys rotate` while the service runs: no call fails, and afterwards the old key decrypts nothing. */
import assert from 'node:assert/strict'
import { createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { dataFolder, eventually, roomy, runServer, spawnServer, startService } from './running-service.ts'
import type { Engine, RunningService } from './running-service.ts'

async function startWithKeyFile(t: Parameters<typeof startService>[0], engine: Engine) {
  if (engine === 'sqlite') {
    const service = await startService(t, engine, roomy)
    return { service, keyFile: join(service.dataDir, 'master-key') }
  }
  const keyFile = join(dataFolder(t), 'the-master-key')
  writeFileSync(keyFile, randomBytes(32).toString('base64url'), { mode: 0o600 })
  return { service: await startService(t, engine, { ...roomy, SALLYPORT_MASTER_KEY_FILE: keyFile }), keyFile }
}

/** Clients that concurrently register, start sandboxes and call through them. Every response has to be a success. */
function load(service: RunningService, clients: number, { pauseMs = 0, callsOfEach = 3 } = {}) {
  const failures: string[] = []
  const agents: { token: string; body: object }[] = []
  let calls = 0
  let isOver = false
  const expect = async (status: number, ...call: Parameters<RunningService['call']>) => {
    const reply = await service.call(...call)
    if (reply.status !== status) failures.push(`${call[1]}: ${reply.status} ${reply.text}`)
    calls++
    return reply.body
  }
  const work = Array.from({ length: clients }, async () => {
    while (!isOver && failures.length === 0) {
      const { access_token: token } = await expect(201, 'POST', '/v4/agents/register', { body: { name: 'under load' } })
      const { example } = await expect(201, 'POST', '/v4/sandbox/start', { token })
      for (let count = 0; count < callsOfEach; count++) {
        const echoed = await expect(200, 'POST', '/v4/proxy', { token, body: example.body })
        assert.equal(echoed.body.headers.authorization, 'Bearer [REDACTED]')
      }
      agents.push({ token, body: example.body })
      await sleep(pauseMs)
    }
  })
  return {
    agents,
    end: async () => {
      isOver = true
      await Promise.all(work)
      assert.deepEqual(failures, [])
      return calls
    },
  }
}

async function assertAllOpen(service: RunningService, agents: { token: string; body: object }[]): Promise<void> {
  for (const { token, body } of agents) {
    const { status, text } = await service.call('POST', '/v4/proxy', { token, body })
    assert.equal(status, 200, text)
    assert.match(text, /Bearer \[REDACTED\]/)
  }
}

interface DataKey {
  key_id: string
  active: number | null
  master_key_id: string
  sealed_key: Uint8Array
}

async function readDataKeys(service: RunningService): Promise<DataKey[]> {
  const statement = 'select key_id, active, master_key_id, sealed_key from vault_keys'
  const url = service.env['DATABASE_URL']
  if (url === undefined) {
    const database = new DatabaseSync(join(service.dataDir, 'sallyport.db'), { readOnly: true })
    const rows = database.prepare(statement).all() as unknown as DataKey[]
    database.close()
    return rows
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<DataKey>(statement)
  await client.end()
  return rows
}

/** By hand, as docs/storage.md tells it: version ‖ nonce ‖ tag ‖ ciphertext, AES-256-GCM. */
function opens(masterKey: string, { key_id, sealed_key }: DataKey): boolean {
  const sealed = Buffer.from(sealed_key)
  const key = Buffer.from(masterKey, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 13), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(JSON.stringify(['sallyport.data-key.v1', key_id]))).setAuthTag(sealed.subarray(13, 29))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(29)), decipher.final()]).length === 32
  } catch {
    return false
  }
}

function idOf(masterKey: string): string {
  const hash = createHash('sha256').update('sallyport master key id').update(Buffer.from(masterKey, 'base64url'))
  return hash.digest('hex').slice(0, 16)
}

onBothDatabases('keys rotate', (engine) => {
  test('under load no call fails, and afterwards the old key decrypts nothing', async (t) => {
    const { service, keyFile } = await startWithKeyFile(t, engine)
    const oldKey = readFileSync(keyFile, 'utf8').trim()
    assert.deepEqual(
      (await readDataKeys(service)).map((row) => opens(oldKey, row)),
      [true],
    )

    // Without a pause, most of the processor's time would go into calls and not into the rotation.
    const running = load(service, 8, { pauseMs: 40 })
    await eventually(() => running.agents.length >= 8, 'the load does not begin')
    for (let round = 0; round < 3; round++) {
      const { code, stdout, stderr } = await runServer(t, ['keys', 'rotate'], service.env)
      assert.equal(code, 0, stderr)
      assert.match(stdout, /Nothing is encrypted with the old master key anymore\.\n$/)
    }
    const calls = await running.end()
    t.diagnostic(`${calls} calls during three rotations`)
    await assertAllOpen(service, running.agents)

    const newKey = readFileSync(keyFile, 'utf8').trim()
    assert.match(newKey, /^[\w-]{43}$/, 'one key is left in the file')
    assert.notEqual(newKey, oldKey)
    assert.equal((statSync(keyFile).mode & 0o777).toString(8), '600')
    const rows = await readDataKeys(service)
    assert.deepEqual(
      rows.map((row) => [opens(oldKey, row), opens(newKey, row), Number(row.active), row.master_key_id]),
      [[false, true, 1, idOf(newKey)]],
    )
    await service.stop()
    writeFileSync(keyFile, oldKey)
    const refused = await runServer(t, [], service.env)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /The master key does not match/)
    writeFileSync(keyFile, newKey)
    await service.startAgain()
    await assertAllOpen(service, running.agents.slice(0, 5))
  })

  test('a killed rotation finishes when it is run again', { timeout: 300_000 }, async (t) => {
    const { service, keyFile } = await startWithKeyFile(t, engine)
    const oldKey = readFileSync(keyFile, 'utf8').trim()
    const running = load(service, 8, { callsOfEach: 0 })
    await eventually(() => running.agents.length >= 130, 'too few values to be killed amid')
    await running.end()
    // At the first line the new key is in use; after the second some values are re-encrypted and others are not.
    for (const line of [/^A new data key/m, /^Re-encrypted \d+ values/m, /^Re-encrypted \d+ values/m]) {
      const { child, exit, stdout } = spawnServer(t, ['keys', 'rotate'], service.env)
      child.stdout?.on('data', () => line.test(stdout()) && child.kill('SIGKILL'))
      await exit
      await assertAllOpen(service, running.agents.slice(0, 10))
    }
    await service.kill()
    await service.startAgain()
    await assertAllOpen(service, running.agents)
    const { code, stderr } = await runServer(t, ['keys', 'rotate'], service.env)
    assert.equal(code, 0, stderr)
    const rows = await readDataKeys(service)
    assert.deepEqual(
      rows.map((row) => opens(oldKey, row)),
      [false],
    )
    assert.equal(readFileSync(keyFile, 'utf8').trim().split('\n').length, 1)
    await assertAllOpen(service, running.agents)
  })
})

test('a key given as a value is rotated by giving two', async (t) => {
  const service = await startService(t, 'postgres', roomy)
  const { token } = await service.register()
  const { example } = (await service.call('POST', '/v4/sandbox/start', { token })).body
  const oldKey = service.env['SALLYPORT_MASTER_KEY'] ?? ''
  const told = await runServer(t, ['keys', 'rotate'], service.env)
  assert.equal(told.code, 1)
  assert.match(
    told.stderr,
    /^Configure every instance with the new master key before the old one .*then run this again\.\n$/,
  )

  const newKey = randomBytes(32).toString('hex')
  await service.stop()
  await service.startAgain({ SALLYPORT_MASTER_KEY: `${newKey},${oldKey}` })
  const rotated = await runServer(t, ['keys', 'rotate'], service.env)
  assert.equal(rotated.code, 0, rotated.stderr)
  assert.match(rotated.stdout, /Remove the old key from SALLYPORT_MASTER_KEY now\.\n$/)
  assert.ok(!rotated.stdout.includes(newKey) && !rotated.stdout.includes(oldKey))
  await service.stop()
  await service.startAgain({ SALLYPORT_MASTER_KEY: newKey })
  await assertAllOpen(service, [{ token, body: example.body }])
})
