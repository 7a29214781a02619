import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAuthority } from './certificates.ts'
import { temporaryFolder } from './databases.ts'
import { findProgram } from './programs.ts'
import { makeCertificate, newKeyPair } from './x509.ts'

test('a certificate has its names and usage and is signed by its CA', async (t) => {
  const authority = await createAuthority(temporaryFolder(t))
  const ca = new X509Certificate(authority.caPem)
  const { cert } = await authority.issue({
    names: ['localhost', 'a.example'],
    addresses: ['127.0.0.1', '::1', 'fd00::1:2'],
  })
  const leaf = new X509Certificate(cert)
  assert.deepEqual([ca.ca, leaf.ca], [true, false])
  assert.ok(leaf.verify(ca.publicKey) && leaf.checkIssued(ca) && ca.verify(ca.publicKey))
  assert.equal(leaf.checkHost('a.example'), 'a.example')
  assert.equal(leaf.checkHost('b.example'), undefined)
  for (const address of ['127.0.0.1', '::1', 'fd00::1:2']) assert.equal(leaf.checkIP(address), address)
  assert.equal(leaf.checkIP('127.0.0.2'), undefined)
  const stranger = await createAuthority(temporaryFolder(t))
  assert.equal(leaf.verify(new X509Certificate(stranger.caPem).publicKey), false)
  const expired = await authority.issue({ names: ['localhost'], expired: true })
  assert.equal(new X509Certificate(expired.cert).validToDate.getUTCFullYear(), 2001)
})

test('dates before and after 2050 and multi-byte lengths are encoded correctly', () => {
  const issuer = { commonName: 'x'.repeat(300), ...newKeyPair() }
  const dates = { notBefore: new Date('2049-12-31T23:59:59Z'), notAfter: new Date('2050-01-01T00:00:00Z') }
  const names = Array.from({ length: 200 }, (_, index) => `host-${index}.example`)
  const use = { names, addresses: [] }
  const read = new X509Certificate(makeCertificate({ ...issuer, ...dates, issuer, use }))
  assert.deepEqual([read.validFromDate, read.validToDate], [dates.notBefore, dates.notAfter])
  assert.equal(read.subjectAltName, names.map((name) => `DNS:${name}`).join(', '))
})

test('openssl accepts it, in strict mode too', async (t) => {
  assert.ok(findProgram(['openssl']), 'this test needs the program openssl')
  const folder = temporaryFolder(t)
  const authority = await createAuthority(folder)
  const { cert } = await authority.issue({ names: ['localhost'] })
  writeFileSync(join(folder, 'leaf.pem'), cert)
  const args = ['verify', '-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'localhost']
  const said = execFileSync('openssl', [...args, '-CAfile', authority.caFile, join(folder, 'leaf.pem')])
  assert.match(said.toString(), /leaf\.pem: OK/)
})
