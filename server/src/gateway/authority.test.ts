/** The authority: one for all instances, renewed in time, and certificates that strict clients accept. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { fixedClock } from '../../testkit/clock.ts'
import type { FixedClock } from '../../testkit/clock.ts'
import { onBothDatabases, temporaryFolder } from '../../testkit/databases.ts'
import { migratedDatabase } from '../../testkit/open-database.ts'
import { findPython } from '../../testkit/python.ts'
import type { Database } from '../platform/database/database.ts'
import { createLog } from '../platform/operations/log.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { rotateKeys } from '../platform/vault/rotate.ts'
import { openVault } from '../platform/vault/vault.ts'
import { sealedColumns } from '../sealed-columns.ts'
import { createAuthorityStore } from './authority-store.ts'
import { isSuccessorDue, signerOf } from './authority.ts'
import { keepAuthority } from './keep-authority.ts'
import { createLeaves } from './leaves.ts'

const run = promisify(execFile)
const day = 86_400
const silent = createLog({ logLevel: 'silent', logFormat: 'json' })

async function keeperOn(database: Database, { masterKeys = [newMasterKey()], clock = fixedClock() } = {}) {
  const vault = await openVault({ database, readMasterKeys: () => masterKeys, clock: clock.now })
  const authorities = createAuthorityStore(vault)
  return { ...keepAuthority({ database, authorities, clock: clock.now, log: silent }), vault }
}

onBothDatabases("the gateway's authority", (engine) => {
  test('is created once, even if several instances start at the same time', async (t) => {
    const open = await migratedDatabase(t, engine)
    const masterKeys = [newMasterKey()]
    const instances = await Promise.all([1, 2, 3, 4].map(() => keeperOn(open(), { masterKeys })))
    const signers = await Promise.all(instances.map((one) => one.signer()))
    assert.equal(new Set(signers.map(({ certificate }) => certificate)).size, 1)
    const [certificate] = signers.map((one) => one.certificate)
    const all = await instances[0]?.current()
    assert.deepEqual(
      all?.map((one) => one.certificate),
      [certificate],
    )
  })

  test('lasts 90 days; its successor is announced 30 days before its end, and takes over 7 days before', async (t) => {
    const clock = fixedClock()
    const database = (await migratedDatabase(t, engine))()
    const keeper = await keeperOn(database, { clock })
    const first = await keeper.signer()
    const { validFromDate, validToDate } = new X509Certificate(first.certificate)
    assert.equal(validToDate.getTime() - clock.now().getTime(), 90 * day * 1000)
    assert.ok(validFromDate < clock.now())
    const shown = async () => (await keeper.current()).map(({ generation }) => generation)
    const signer = async () => (await keeper.signer()).generation
    clock.advance(60 * day - 1)
    assert.deepEqual([await shown(), await signer()], [[1], 1])
    clock.advance(1)
    assert.deepEqual([await shown(), await signer()], [[1, 2], 1])
    clock.advance(23 * day - 1)
    assert.deepEqual([await shown(), await signer()], [[1, 2], 1])
    clock.advance(1)
    assert.deepEqual([await shown(), await signer()], [[1, 2], 2])
    clock.advance(7 * day)
    assert.deepEqual([await shown(), await signer()], [[2], 2])
    const rows = await database.queries.selectFrom('gateway_authorities').select('generation').execute()
    assert.deepEqual(
      rows.map(({ generation }) => generation),
      [2],
    )
  })

  test('is replaced at once after a long time off', async (t) => {
    const clock = fixedClock()
    const keeper = await keeperOn((await migratedDatabase(t, engine))(), { clock })
    const first = await keeper.signer()
    clock.advance(400 * day)
    const second = await keeper.signer()
    assert.deepEqual([first.generation, second.generation], [1, 2])
    assert.deepEqual(
      (await keeper.current()).map(({ generation }) => generation),
      [2],
    )
  })

  test("its key is sealed, and is still read after the master key's rotation", async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const clock = fixedClock()
    const masterKeys = [newMasterKey()]
    const { signer, vault } = await keeperOn(database, { masterKeys })
    const { privateKey, certificate } = await signer()
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const { d = '' } = privateKey.export({ format: 'jwk' })
    const stored = await database.queries.selectFrom('gateway_authorities').selectAll().execute()
    const bytes = JSON.stringify(
      stored.map((row) => ({ ...row, private_key: Buffer.from(row.private_key).toString('latin1') })),
    )
    assert.ok(
      bytes.includes('BEGIN CERTIFICATE') &&
        !bytes.includes('PRIVATE KEY') &&
        !bytes.includes(pem) &&
        !bytes.includes(d),
    )
    const source = { read: () => masterKeys, write: (keys: typeof masterKeys) => void masterKeys.splice(0, 9, ...keys) }
    const needs = { database, vault, source, sealedColumns, newMasterKey, clock: clock.now }
    assert.equal((await rotateKeys({ ...needs, onProgress: () => undefined })).resealed, 1)
    const after = await (await keeperOn(database, { masterKeys })).signer()
    assert.equal(after.certificate, certificate)
    assert.equal(after.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), pem)
  })

  test('a certificate that was exchanged in the database is not signed for', async (t) => {
    const open = await migratedDatabase(t, engine)
    const masterKeys = [newMasterKey()]
    await (await keeperOn(open(), { masterKeys })).signer()
    const { certificate } = await (await keeperOn((await migratedDatabase(t, engine))())).signer()
    await open().queries.updateTable('gateway_authorities').set({ certificate }).execute()
    await assert.rejects((await keeperOn(open(), { masterKeys })).signer())
  })
})

test('which of several signs, and when a successor is due', () => {
  const now = new Date('2027-01-01T00:00:00Z')
  const one = (generation: number, days: number) => ({
    generation,
    notAfter: new Date(now.getTime() + days * day * 1000),
  })
  const signs = (...days: number[]) =>
    signerOf(
      days.map((left, index) => one(index + 1, left)),
      now,
    )?.generation
  assert.deepEqual([signs(), signs(0), signs(-1)], [undefined, undefined, undefined])
  assert.deepEqual([signs(90), signs(8, 90), signs(7, 90), signs(3), signs(0, 40)], [1, 1, 2, 1, 2])
  assert.equal(signerOf([one(2, 90), one(1, 20)], now)?.generation, 1)
  const isDue = (...days: number[]) =>
    isSuccessorDue(
      days.map((left) => one(1, left)),
      now,
    )
  assert.deepEqual([isDue(), isDue(31), isDue(30), isDue(3, 90)], [true, false, true, false])
})

describe('a certificate of the gateway', () => {
  const hosts = ['api.example.com', '127.0.0.1', '[::1]', `${'a'.repeat(60)}.${'b'.repeat(60)}.example.com`]

  async function leavesOf(t: Parameters<typeof temporaryFolder>[0], clock: FixedClock = fixedClock(new Date())) {
    const database = (await migratedDatabase(t, 'sqlite'))()
    const keeper = await keeperOn(database, { clock })
    return { keeper, leaves: createLeaves({ keeper, clock: clock.now }), clock }
  }

  test('is for one host and a day, and is issued again before it ends', async (t) => {
    const { keeper, leaves, clock } = await leavesOf(t)
    const authority = new X509Certificate((await keeper.signer()).certificate)
    const serials = new Set<string>()
    for (const host of hosts) {
      const { cert } = await leaves.of(host)
      const leaf = new X509Certificate(cert)
      assert.ok(leaf.checkIssued(authority) && leaf.verify(authority.publicKey) && !leaf.ca)
      assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1'])
      const address = host.replace(/[[\]]/g, '')
      assert.ok(address.includes('example') ? leaf.checkHost(address) : leaf.checkIP(address))
      assert.equal(leaf.subjectAltName?.split(', ').length, 1)
      assert.match(leaf.serialNumber, /^[4-7][0-9A-F]{31}$/)
      assert.ok(leaf.validToDate.getTime() - clock.now().getTime() <= day * 1000)
      serials.add(leaf.serialNumber)
      assert.equal((await leaves.of(host)).cert, cert)
    }
    assert.equal(serials.size, hosts.length)
    const [host = ''] = hosts
    const first = await leaves.of(host)
    clock.advance(day / 2 - 1)
    assert.equal(leaves.isCached(host), true)
    clock.advance(1)
    assert.equal(leaves.isCached(host), false)
    assert.notEqual((await leaves.of(host)).cert, first.cert)
  })

  test('is cached, the least recently used are forgotten', async (t) => {
    const { leaves } = await leavesOf(t)
    await leaves.of('first.example.com')
    for (let index = 0; index < 999; index++) await leaves.of(`h${index}.example.com`)
    await leaves.of('first.example.com')
    await leaves.of('another.example.com')
    const cached = ['first', 'h0', 'h1', 'h998', 'another'].map((name) => leaves.isCached(`${name}.example.com`))
    assert.deepEqual(cached, [true, false, true, true, true])
  })

  test('passes the strict checks of OpenSSL, and of Python', async (t) => {
    const { keeper, leaves } = await leavesOf(t)
    const folder = temporaryFolder(t)
    const caFile = join(folder, 'ca.pem')
    writeFileSync(caFile, (await keeper.current()).map(({ certificate }) => certificate).join(''))
    for (const [index, host] of hosts.entries()) {
      const file = join(folder, `leaf-${index}.pem`)
      writeFileSync(file, (await leaves.of(host)).cert)
      const how = ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', caFile, file]
      assert.match((await run('openssl', how)).stdout, /: OK\n$/)
    }
    const python = await findPython('ssl')
    assert.ok(python)
    const { key, cert } = await leaves.of('localhost')
    const files = { caFile, keyFile: join(folder, 'key.pem'), certFile: join(folder, 'cert.pem') }
    writeFileSync(files.keyFile, key)
    writeFileSync(files.certFile, cert)
    assert.equal(
      (await run(python, ['-c', handshake, files.caFile, files.certFile, files.keyFile])).stdout,
      'localhost\n',
    )
  })
})

/** A handshake of Python with itself, with the checks that Python 3.13 makes by default. */
const handshake = `
import ssl, sys
ca, cert, key = sys.argv[1:]
client = ssl.create_default_context(cafile=ca)
client.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
server.load_cert_chain(cert, key)
a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
ends = [client.wrap_bio(a, b, server_hostname='localhost'), server.wrap_bio(b, a, server_side=True)]
done = set()
while len(done) < 2:
    for end in ends:
        try:
            end.do_handshake()
            done.add(end)
        except ssl.SSLWantReadError:
            pass
print(ends[0].getpeercert()['subjectAltName'][0][1])
`
