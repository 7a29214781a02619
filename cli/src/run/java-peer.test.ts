/** Who may use the port for Java: real processes and real connections, Linux only. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { isFromProcessWith } from './java-peer.ts'

const secret = 'secret-of-this-run'

const skip = process.platform !== 'linux' && 'only Linux can be asked'

test('admits processes with the credential, and none that borrows the port of one', { skip }, async (t) => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const accepted = async (): Promise<Socket> => {
    const [socket] = (await once(server, 'connection')) as [Socket]
    t.after(() => socket.destroy())
    return socket.on('error', () => undefined)
  }
  t.after(() => server.close())

  for (const host of ['127.0.0.1', '::ffff:127.0.0.1']) {
    const ofCommand = accepted()
    const program = `require('node:net').connect(${port}, '${host}').on('error', () => {})`
    const command = spawn(process.execPath, ['-e', program], { env: { PROXY: secret }, stdio: 'ignore' })
    t.after(() => command.kill())
    const own = await ofCommand
    assert.ok(isFromProcessWith(secret, own), host)
    assert.ok(!isFromProcessWith('another secret', own))

    // Any user of the machine sees the command's port, and can have the same one at another address of loopback. The
    // kernel lists IPv6 sockets, as this one is, behind all others.
    const ofOther = accepted()
    const other = connect({
      ...{ port, host: '::ffff:127.0.0.1', localAddress: '::ffff:127.0.0.9' },
      ...(own.remotePort !== undefined && { localPort: own.remotePort }),
    })
    t.after(() => other.destroy())
    await once(other, 'connect')
    assert.ok(!isFromProcessWith(secret, await ofOther), 'of another address')
  }
})
