import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { readConfig } from '../../config/config.ts'
import { createLog } from '../operations/log.ts'
import { createCertificateReloads } from './certificate-reloads.ts'
import { createHttpListener, rereadCertificate } from './listener.ts'

test('a replaced certificate is used for new connections, and an invalid one is ignored', async (t) => {
  const folder = temporaryFolder(t)
  const { issue, caPem } = await sharedAuthority()
  const files = { tlsCertFile: join(folder, 'cert.pem'), tlsKeyFile: join(folder, 'key.pem') }
  const replace = async () => {
    const { cert, key } = await issue({ names: ['localhost'] })
    writeFileSync(files.tlsCertFile, cert)
    writeFileSync(files.tlsKeyFile, key)
  }
  await replace()
  const config = readConfig({ SALLYPORT_DATA_DIR: folder })
  const server = createHttpListener(config, createLog(config), (_request, response) => response.end(), files)
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const shown = async () => {
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: caPem })
    await once(socket, 'secureConnect')
    const { fingerprint256 } = socket.getPeerCertificate()
    socket.destroy()
    return fingerprint256
  }
  const first = await shown()
  await replace()
  assert.equal(await shown(), first)
  assert.equal(rereadCertificate(server, files), true)
  const second = await shown()
  assert.notEqual(second, first)
  writeFileSync(files.tlsKeyFile, 'no key')
  assert.throws(() => rereadCertificate(server, files))
  assert.equal(await shown(), second)
})

test('changed files are read once they stay as they are, and again after an invalid one', (t) => {
  const folder = temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  const files = { tlsCertFile: path('cert.pem'), tlsKeyFile: path('key.pem') }
  for (const file of Object.values(files)) writeFileSync(file, 'first')
  const log: string[] = []
  let reads = 0
  let isInvalid = false
  const reloads = createCertificateReloads(
    files,
    createLog(readConfig({}), { write: (line) => log.push(line) }),
    () => {
      reads++
      if (isInvalid) throw new Error('the key does not match')
      return true
    },
  )
  /** How often it was read after each look. */
  const look = (times: number) => Array.from({ length: times }, () => (reloads.reloadIfChanged(), reads))
  assert.deepEqual(look(2), [0, 0])
  const replace = (file: string, content: string) => {
    writeFileSync(path('new'), content)
    renameSync(path('new'), file)
  }
  replace(files.tlsCertFile, 'second')
  assert.deepEqual(look(1), [0], 'the key may be about to change')
  replace(files.tlsKeyFile, 'second')
  assert.deepEqual(look(3), [0, 1, 1])
  isInvalid = true
  replace(files.tlsKeyFile, 'wrong one')
  assert.deepEqual(look(3), [1, 2, 2])
  assert.match(log.at(-1) ?? '', /the old one stays in use/)
  isInvalid = false
  replace(files.tlsKeyFile, 'third')
  assert.deepEqual(look(3), [2, 3, 3])
  // As certbot and Kubernetes do: the name is a link that leads elsewhere.
  writeFileSync(path('elsewhere'), 'fourth')
  rmSync(files.tlsCertFile)
  symlinkSync(path('elsewhere'), files.tlsCertFile)
  assert.deepEqual(look(3), [3, 4, 4])
  reloads.reload({ signal: 'SIGHUP' })
  assert.deepEqual(look(2), [5, 5])
  rmSync(path('elsewhere'))
  isInvalid = true
  assert.deepEqual(look(3), [5, 6, 6], 'a file that is gone is no reason to stop')
})
