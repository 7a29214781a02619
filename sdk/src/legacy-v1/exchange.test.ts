import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createLegacyClient } from './client.ts'
import { LegacyError } from './errors.ts'
import { exchangeWith } from './exchange.ts'
import { generateClientKey, publicPem } from './keys.ts'

/** A server that is not our service. */
async function startAnswering(t: TestContext, listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const isError = (code: string, status?: number) => (error: unknown) =>
  error instanceof LegacyError && error.code === code && error.status === status

test('a response that is not of this protocol is unexpected, whatever its status', async (t) => {
  let status = 200
  let text = ''
  const url = await startAnswering(t, (_request, response) => response.writeHead(status).end(text))
  const exchange = exchangeWith(`${url}/`, fetch, 5000)
  for (const odd of ['', '<html>', '[]', 'null', '"text"', '{"error":', '\ud800']) {
    for (const code of [200, 201, 404, 502]) {
      status = code
      text = odd
      await assert.rejects(exchange('POST', '/v1/kv/save', {}), isError('unexpected_answer', code), `${code} ${odd}`)
    }
  }
  status = 400
  for (const odd of ['{"error":"no"}', '{"error":{"code":7}}', '{"error":[]}']) {
    text = odd
    await assert.rejects(exchange('POST', '/v1/kv/save', {}), isError('unexpected_answer', 400), odd)
  }
  text = '{"error":{"code":"payload_invalid"}}'
  await assert.rejects(exchange('POST', '/v1/kv/save', {}), isError('payload_invalid', 400))
})

test('a redirect is not followed, as an envelope is for one service', async (t) => {
  const seen: string[] = []
  const url = await startAnswering(t, ({ url: path = '' }, response) => {
    seen.push(path)
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  await assert.rejects(exchangeWith(url, fetch, 5000)('POST', '/v1/kv/save', {}), isError('no_answer'))
  assert.deepEqual(seen, ['/v1/kv/save'])
})

test('a response that times out or is cut off is an error', async (t) => {
  const silent = await startAnswering(t, () => undefined)
  await assert.rejects(exchangeWith(silent, fetch, 100)('GET', '/v1/authai/public-key'), isError('no_answer'))
  const broken = await startAnswering(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{')
    setTimeout(() => response.destroy(), 20)
  })
  await assert.rejects(exchangeWith(broken, fetch, 5000)('GET', '/v1/authai/public-key'), isError('no_answer'))
})

test('an endless response is cut off', async (t) => {
  const state = { isCut: false }
  const url = await startAnswering(t, (_request, response) => {
    const blanks = Buffer.alloc(1024 * 1024, ' ')
    const more = () => {
      response.write(blanks, (error) => {
        if (!error) more()
      })
    }
    response.on('close', () => {
      state.isCut = true
    })
    more()
  })
  await assert.rejects(
    exchangeWith(url, fetch, 20_000)('GET', '/v1/authai/public-key'),
    isError('unexpected_answer', 200),
  )
  while (!state.isCut) await new Promise((resolve) => setTimeout(resolve, 10))
})

test('a client is not created without a pinned fingerprint', async () => {
  const key = await generateClientKey(2048)
  const good = `SHA256:${'A'.repeat(43)}`
  for (const wrong of ['', 'SHA256:', good.toLowerCase(), `${good}=`, [], [good, '']]) {
    const options = { baseUrl: 'http://localhost', key, serviceKeyFingerprint: wrong }
    assert.throws(() => createLegacyClient(options), TypeError, String(wrong))
  }
  createLegacyClient({ baseUrl: 'http://localhost', key, serviceKeyFingerprint: [good] })
})

test('a service with an invalid or different key is not trusted', async (t) => {
  const other = await generateClientKey(2048)
  const pems = [
    await publicPem(other.publicKey),
    'no key',
    '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----',
  ]
  let pem: string | undefined
  const asked = new Set<string | undefined>()
  const url = await startAnswering(t, (request, response) => {
    asked.add(request.url)
    response.end(JSON.stringify({ authai_public_key: pem, fingerprint: `SHA256:${'A'.repeat(43)}` }))
  })
  for (pem of pems) {
    const client = createLegacyClient({ baseUrl: url, key: other, serviceKeyFingerprint: `SHA256:${'A'.repeat(43)}` })
    await assert.rejects(client.register(), isError('service_key_mismatch'))
  }
  assert.deepEqual([...asked], ['/v1/authai/public-key'])
})
