/** The listener of a run, between real clients and a real gateway of the test kit. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage, RequestListener } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { startConnectGateway } from '../../../server/testkit/connect-gateway.ts'
import { freePort } from '../../../server/testkit/ports.ts'
import { createForward } from './forward-request.ts'
import { startListener } from './listener.ts'
import { makeRunCredential } from './run-credential.ts'
import type { OtherHosts } from './target.ts'
import { createWays } from './ways.ts'

const key = 'sp_key_of-this-run'
const echo: RequestListener = (request, response) => {
  void buffer(request).then((body) => {
    const { method, url, rawHeaders } = request
    response.writeHead(200, { 'content-type': 'application/json', 'x-upstream': ['one', 'two'] })
    response.end(JSON.stringify({ method, url, rawHeaders, bytes: body.length }))
  })
}

interface Given {
  otherHosts?: OtherHosts
  addresses?: Record<string, string[]>
  answer?: RequestListener
  port?: number
}

async function startRun(t: TestContext, { otherHosts = 'allow', addresses = {}, answer = echo, port }: Given = {}) {
  const gateway = await startConnectGateway(t, key, answer)
  const said: string[] = []
  const lookedUp: string[] = []
  let current = key
  const ways = createWays({
    gateway: { host: '127.0.0.1', port: port ?? gateway.port, tls: false, key: () => current },
    grantedHosts: ['api.acme.example', '*.files.example', 'git.acme.example:8443'],
    otherHosts,
    lookup: (name) => {
      lookedUp.push(name)
      return Promise.resolve(addresses[name] ?? [])
    },
    say: (line) => said.push(line),
  })
  const forward = createForward(ways, gateway.caPem)
  const credential = makeRunCredential()
  const listener = await startListener({ ways, forward, isAllowed: credential.isIn })
  t.after(async () => {
    forward.close()
    await listener.close()
  })
  const proxyUrl = new URL(credential.urlOf(listener.port))
  const basic = `Basic ${Buffer.from(`${proxyUrl.username}:${proxyUrl.password}`).toString('base64')}`

  /** A CONNECT, as tools send it. */
  const open = async (target: string, authorization: string | undefined = basic) => {
    const headers = authorization === '' ? {} : { 'proxy-authorization': authorization }
    const asking = httpRequest({ port: listener.port, method: 'CONNECT', path: target, headers, agent: false })
    const [answer, socket, head] = (await once(asking.end(), 'connect')) as [IncomingMessage, Socket, Buffer]
    socket.on('error', () => undefined)
    t.after(() => socket.destroy())
    return { status: answer.statusCode, reason: answer.statusMessage, headers: answer.headers, socket, head }
  }
  const secured = async (target: string) => {
    const { socket } = await open(target)
    const tls = connectTls({ socket, servername: target.replace(/:\d+$/, ''), ca: gateway.caPem })
    await once(tls, 'secureConnect')
    return tls
  }
  /** A request to the proxy itself. */
  const ask = async (path: string, headers: Record<string, string> = { 'proxy-authorization': basic }, body = '') => {
    const method = body === '' ? 'GET' : 'POST'
    const asking = httpRequest({ port: listener.port, method, path, headers, agent: false })
    const [answer] = (await once(asking.end(body), 'response')) as [IncomingMessage]
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
  }
  const useKey = (next: string) => {
    current = next
  }
  return { gateway, listener, said, lookedUp, open, secured, ask, useKey, basic }
}

describe('the listener of a run', () => {
  test("passes a granted host on to the gateway with the run's key, byte for byte", async (t) => {
    const { gateway, secured, said } = await startRun(t)
    for (const target of ['api.acme.example:443', 'one.files.example:443', 'git.acme.example:8443']) {
      const tls = await secured(target)
      tls.write('GET /a%2Fb?c HTTP/1.1\r\nhost: api.acme.example\r\nX-Own: kept\r\nconnection: close\r\n\r\n')
      const answer = await text(tls)
      assert.match(answer, /^HTTP\/1\.1 200 .*"url":"\/a%2Fb\?c".*"X-Own","kept"/s)
      assert.doesNotMatch(answer, /proxy-auth|sp_key_/i)
    }
    const targets = ['api.acme.example:443', 'one.files.example:443', 'git.acme.example:8443']
    assert.deepEqual(
      gateway.asked,
      targets.map((target) => ({ target, key })),
    )
    assert.deepEqual(said, [])
  })

  test('loses nothing of a large answer whose sender closes first, nor of a large upload', async (t) => {
    const size = 20 * 1024 * 1024
    const { secured } = await startRun(t, {
      answer: (request, response) => {
        void buffer(request).then(({ length }) => {
          const headers = { connection: 'close', 'x-bytes': length, 'content-length': size }
          response.writeHead(200, headers).end(Buffer.alloc(size, 'x'))
        })
      },
    })
    const tls = await secured('api.acme.example:443')
    tls.write(`POST / HTTP/1.1\r\nhost: api.acme.example\r\ncontent-length: ${size}\r\n\r\n`)
    tls.write(Buffer.alloc(size, 'y'))
    const answer = await buffer(tls)
    assert.match(answer.toString('latin1', 0, 200), new RegExp(`x-bytes: ${size}`))
    assert.equal(answer.length - answer.indexOf('\r\n\r\n') - 4, size)
  })

  test('takes nothing without its credential', async (t) => {
    const { gateway, open, ask, said, listener } = await startRun(t)
    const wrong = [
      '',
      'Basic',
      'Basic cnVuOg==',
      'Bearer sp_key_of-this-run',
      `Basic ${Buffer.from('run:x').toString('base64')}`,
    ]
    for (const authorization of wrong) {
      const { status, headers } = await open('api.acme.example:443', authorization)
      assert.deepEqual([status, headers['proxy-authenticate']], [407, 'Basic realm="sallyport run"'], authorization)
      const plain = await ask(
        'https://api.acme.example/',
        authorization === '' ? {} : { 'proxy-authorization': authorization },
      )
      assert.equal(plain.status, 407)
    }
    assert.deepEqual([gateway.asked, said], [[], []])
    await listener.close()
    const late = connect(listener.port, '127.0.0.1')
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException]
    assert.equal(error.code, 'ECONNREFUSED', 'after the run nothing listens')
  })

  test('closes open tunnels when the run ends', async (t) => {
    const { secured, listener } = await startRun(t, { answer: (_request, response) => response.write('and so on') })
    const tls = await secured('api.acme.example:443')
    tls.write('GET / HTTP/1.1\r\nhost: api.acme.example\r\n\r\n')
    await once(tls, 'data')
    tls.on('error', () => undefined)
    await Promise.all([once(tls, 'close'), listener.close()])
  })

  test('takes a request in absolute form, and answers one for plain http with a sentence', async (t) => {
    const { gateway, ask, said, basic } = await startRun(t)
    const headers = {
      'proxy-authorization': basic,
      'x-own': 'kept',
      connection: 'x-of-one-connection',
      'x-of-one-connection': '1',
    }
    const { status, headers: received, body } = await ask('https://api.acme.example/path?q', headers, 'four')
    const { method, url, rawHeaders, bytes } = JSON.parse(body) as Record<string, unknown>
    assert.deepEqual([status, method, url, bytes], [200, 'POST', '/path?q', 4])
    assert.equal(received['x-upstream'], 'one, two')
    const names = (rawHeaders as string[]).map((one) => one.toLowerCase())
    assert.ok(names.includes('x-own'))
    assert.ok(!names.includes('x-of-one-connection') && !names.includes('proxy-authorization'))
    assert.equal(names[names.indexOf('host') + 1], 'api.acme.example')
    assert.deepEqual(gateway.asked, [{ target: 'api.acme.example:443', key }])
    const plain = await ask('http://api.acme.example/')
    assert.deepEqual([plain.status, said], [400, ['http://api.acme.example is not reached: use https']])
    assert.equal((await ask('/')).status, 400)
  })

  test("says the gateway's reason once, to the terminal and to the tool", async (t) => {
    const { gateway, open, ask, said, useKey } = await startRun(t)
    gateway.refusals['api.acme.example:443'] = 'The grant was revoked. Ask for a new one.'
    for (const attempt of [1, 2]) {
      const { status, reason, headers } = await open('api.acme.example:443')
      assert.deepEqual(
        [status, reason, headers['x-sallyport-error']],
        [403, 'The grant was revoked. Ask for a new one.', 'host_not_allowed'],
        `attempt ${attempt}`,
      )
    }
    assert.match((await ask('https://api.acme.example/')).body, /"message":"The grant was revoked/)
    assert.deepEqual(said, ['api.acme.example: The grant was revoked. Ask for a new one.'])
    useKey('another')
    assert.equal((await open('api.acme.example:443')).reason, 'the key of this run has ended: start it again')
    gateway.refusals['one.files.example:443'] = 'clear\u001b[2Jed'
    useKey(key)
    assert.equal((await open('one.files.example:443')).reason, String.raw`clear\x1b[2Jed`)
    assert.equal(said.length, 3)
    assert.ok(said.every((line) => !line.includes('\u001b')))
  })

  test('reaches no private, loopback or metadata address, however it is written', async (t) => {
    const addresses = {
      'metadata.example': ['169.254.169.254'],
      'intranet.example': ['10.1.2.3', '192.168.1.1'],
      'here.example': ['::1', '127.0.0.1'],
      'mapped.example': ['::ffff:127.0.0.1'],
    }
    const { open, said, lookedUp, gateway } = await startRun(t, { addresses })
    const literals = [
      '169.254.169.254',
      '127.0.0.1',
      '0x7f.1',
      '2130706433',
      '[::1]',
      '[::ffff:a9fe:a9fe]',
      '10.0.0.1',
      '0.0.0.0',
    ]
    for (const host of [...literals, ...Object.keys(addresses), 'METADATA.example.']) {
      const { status, headers, reason } = await open(`${host}:80`)
      assert.deepEqual([status, headers['x-sallyport-error']], [403, 'host_not_allowed'], `${host}: ${reason}`)
      assert.match(reason ?? '', /sallyport run connects to public addresses and to granted hosts only$/)
    }
    assert.deepEqual(new Set(lookedUp), new Set(Object.keys(addresses)), 'an address is not looked up')
    assert.ok(
      said.some((line) => line.startsWith('169.254.169.254 is link-local')),
      said.join('\n'),
    )
    assert.equal((await open('nowhere.example:443')).status, 403)
    assert.deepEqual(gateway.asked, [])
  })

  test('refuses all other hosts under deny, without a look-up', async (t) => {
    const { open, said, lookedUp } = await startRun(t, { otherHosts: 'deny' })
    for (const target of ['other.example:443', 'api.acme.example:8443', 'acme.example:443', 'xfiles.example:443']) {
      assert.equal(
        (await open(target)).reason,
        `no grant of this run covers ${target.replace(':443', '')}, and other hosts are denied`,
      )
    }
    assert.deepEqual([said.length, lookedUp], [4, []])
  })

  test('a target that is none is refused', async (t) => {
    const { open } = await startRun(t)
    for (const target of ['api.acme.example', ':443', 'a@api.acme.example:443', 'api.acme.example:0', '[::1:443']) {
      assert.equal((await open(target)).status, 400, target)
    }
  })

  test('survives a client that leaves in the middle of an upgrade, with no credential', async (t) => {
    const { listener, open } = await startRun(t)
    for (let client = 0; client < 5; client++) {
      const socket = connect(listener.port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      socket.write(Buffer.alloc(100_000))
      socket.resetAndDestroy()
      await once(socket, 'close')
    }
    assert.equal((await open('api.acme.example:443')).status, 200)
  })

  test('survives answers that no server may send', async (t) => {
    const heads = ['042 Low', '000 None', '200 O\u0001K']
    const { ask } = await startRun(t, {
      answer: ({ url, socket }) => {
        socket.end(`HTTP/1.1 ${heads[Number(url?.slice(1))] ?? ''}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
      },
    })
    const statuses = []
    for (const index of heads.keys()) statuses.push((await ask(`https://api.acme.example/${index}`)).status)
    assert.deepEqual(statuses, [502, 502, 200])
  })

  test('names a gateway that is down, and breaks with one that breaks', async (t) => {
    const { open, secured, gateway } = await startRun(t)
    const tls = await secured('api.acme.example:443')
    tls.on('error', () => undefined)
    const closed = new Promise((resolve) => tls.once('close', resolve))
    gateway.reset()
    await closed
    const ended = await startRun(t, { port: await freePort() })
    const { status, reason } = await ended.open('api.acme.example:443')
    assert.equal(status, 502)
    assert.match(reason ?? '', /^Sallyport's gateway at 127\.0\.0\.1:\d+ can't be reached \(ECONNREFUSED\)$/)
    assert.deepEqual(ended.said, [`api.acme.example: ${reason ?? ''}`])
    assert.equal((await open('api.acme.example:443')).status, 200)
  })
})
