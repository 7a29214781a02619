import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { readConfig } from '../../config/config.ts'
import { createLog } from '../operations/log.ts'
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
