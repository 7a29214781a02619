import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { accessToken, soon, startCalling } from '../../testkit/calling.ts'
import type { Answer } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'

async function textOf(answer: IncomingMessage): Promise<string> {
  return Buffer.concat(await soon(answer.toArray())).toString('latin1')
}

/** One after the other, as they come. */
function chunksOf(answer: IncomingMessage): () => Promise<string | undefined> {
  const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  return async () => (await soon(chunks.next())).value?.toString()
}

const serviceHeaders = ['x-sallyport-audit-id', 'x-sallyport-upstream', 'x-content-type-options']

onBothDatabases('a streamed answer', (engine) => {
  test('arrives event by event, each before the upstream has sent the next', async (t) => {
    const turn = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    const calling = await startCalling(t, engine, {
      answer: (response) => {
        void (async () => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write('data: one\n\n')
          await turn[0]?.promise
          response.write('data: two\n\n')
          await turn[1]?.promise
          response.end('data: three\n\n')
        })()
      },
    })
    const { answer } = await calling.stream()
    const next = chunksOf(answer)
    assert.equal(await next(), 'data: one\n\n')
    turn[0]?.resolve(undefined)
    assert.equal(await next(), 'data: two\n\n')
    turn[1]?.resolve(undefined)
    assert.equal(await next(), 'data: three\n\n')
    assert.equal(await next(), undefined)
    const [attempt, outcome] = await calling.records()
    assert.equal(attempt?.audit_id, answer.headers['x-sallyport-audit-id'])
    assert.deepEqual(outcome?.detail, { outcome: 'answered', status: 200, bytes: 35, ms: 0, redactions: 0 })
  })

  test('is the upstream’s own, without what would act on our origin, and marked as what it is', async (t) => {
    const dropped = {
      'set-cookie': ['a=b', 'c=d'],
      'strict-transport-security': 'max-age=1',
      'access-control-allow-origin': '*',
      'clear-site-data': '"*"',
      'alt-svc': 'h3=":443"',
      'content-security-policy': "default-src 'none'",
      refresh: '0;url=/',
      link: '</x>; rel=preload',
      'x-sallyport-audit-id': 'aud_forged',
      'x-sallyport-error': '1',
      'x-request-id': 'theirs',
      'cross-origin-opener-policy': 'same-origin',
    }
    const calling = await startCalling(t, engine, {
      answer: (response) => {
        const location = `https://elsewhere.example/?t=${accessToken}`
        response.writeHead(307, `Moved ${accessToken}`, { ...dropped, location, etag: '"1"', 'x-two': ['a', 'b'] })
        response.end('hello')
      },
    })
    const { status, answer } = await calling.stream()
    assert.deepEqual([status, answer.statusMessage, await textOf(answer)], [307, 'Temporary Redirect', 'hello'])
    const { headers } = answer
    assert.deepEqual([headers.etag, headers['x-two']], ['"1"', 'a, b'])
    assert.equal(headers.location, undefined)
    assert.equal(headers['x-sallyport-location'], 'https://elsewhere.example/?t=[REDACTED]')
    assert.match(String(headers['x-sallyport-audit-id']), /^aud_[0-9a-z]{26}$/)
    assert.match(String(headers['x-request-id']), /^req_/)
    assert.deepEqual(
      [headers['x-sallyport-upstream'], headers['x-content-type-options'], headers['content-security-policy']],
      ['1', 'nosniff', 'sandbox'],
    )
    const replaced = ['content-security-policy', 'x-sallyport-audit-id', 'x-request-id']
    for (const name of Object.keys(dropped)) {
      assert.ok(replaced.includes(name) || headers[name] === undefined, name)
    }
    const kept = Object.entries(dropped).filter(([name]) => !/^(?:set-cookie|x-sallyport-)/.test(name))
    for (const [name, value] of kept) assert.equal(headers[`x-sallyport-${name}`], value, name)
    assert.equal(headers['x-sallyport-error'], undefined)
  })

  test('names the headers of the call that were not sent on, and only then', async (t) => {
    const calling = await startCalling(t, engine, { answer: (response) => response.end('whole') })
    const { answer } = await calling.stream({ headers: { Range: 'bytes=0-1', cookie: 'a=b', accept: '*/*' } })
    assert.equal(answer.headers['x-sallyport-dropped-headers'], 'range, cookie')
    assert.equal(await textOf(answer), 'whole')
    const other = await calling.stream({ headers: { accept: '*/*' } })
    assert.equal(other.answer.headers['x-sallyport-dropped-headers'], undefined)
    await textOf(other.answer)
    assert.deepEqual((await calling.proxy({ headers: { Range: 'bytes=0-1' } })).body.dropped_headers, ['range'])
  })

  test('has nothing of the token, however it is cut up, and as many bytes as came otherwise', async (t) => {
    for (const size of [1, 3, 7, 4096]) {
      const calling = await startCalling(t, engine, {
        answer: (response) => {
          const text = Buffer.from(`${'before '.repeat(50)}${accessToken}${' after'.repeat(50)}`)
          void (async () => {
            for (let at = 0; at < text.length; at += size) {
              await new Promise((sent) => response.write(text.subarray(at, at + size), sent))
            }
            response.end()
          })()
        },
      })
      const { answer } = await calling.stream()
      assert.equal(await textOf(answer), `${'before '.repeat(50)}[REDACTED]${' after'.repeat(50)}`)
      assert.equal((await calling.records())[1]?.detail.redactions, 1)
    }
  })

  test('is decoded, and brings trailers along, both without the token', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response) => {
        response.writeHead(200, { 'content-encoding': 'gzip', trailer: 'x-sum, x-token' })
        response.write(gzipSync(`a ${accessToken} b`))
        response.addTrailers({ 'x-sum': '42', 'x-token': accessToken, 'set-cookie': 'a=b' })
        response.end()
      },
    })
    const { answer } = await calling.stream()
    assert.equal(await textOf(answer), 'a [REDACTED] b')
    assert.equal(answer.headers['content-encoding'], undefined)
    assert.deepEqual({ ...answer.trailers }, { 'x-sum': '42', 'x-token': '[REDACTED]' })
  })

  test('may have no body: HEAD, 204, 304, and nothing at all', async (t) => {
    const answers: [string, number, Answer][] = [
      ['HEAD', 200, (response) => response.writeHead(200, { 'content-length': 7, 'content-encoding': 'gzip' }).end()],
      ['HEAD', 200, (response) => response.writeHead(200, { 'content-length': 7 }).end()],
      ['GET', 204, (response) => response.writeHead(204).end()],
      ['GET', 304, (response) => response.writeHead(304, { etag: '"1"', 'content-encoding': 'gzip' }).end()],
      ['GET', 200, (response) => response.writeHead(200, { 'content-encoding': 'br' }).end()],
    ]
    const lengths: unknown[] = []
    for (const [method, expected, answer] of answers) {
      const calling = await startCalling(t, engine, { answer })
      const streamed = await calling.stream({ method })
      assert.deepEqual([streamed.status, await textOf(streamed.answer)], [expected, ''], `${method} ${expected}`)
      for (const name of serviceHeaders) assert.ok(streamed.answer.headers[name], name)
      assert.equal((await calling.records())[1]?.detail.status, expected)
      lengths.push(streamed.answer.headers['x-sallyport-content-length'])
    }
    // How well something was compressed is not told.
    assert.deepEqual(lengths, [undefined, '7', undefined, undefined, undefined])
  })

  test('of an encoding that nobody can look through is refused before anything of it is passed on', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response) => response.writeHead(200, { 'content-encoding': 'x-secret' }).end(accessToken),
    })
    const { status, answer } = await calling.stream()
    assert.deepEqual([status, answer.headers['x-sallyport-error']], [502, '1'])
    assert.match(await textOf(answer), /upstream_encoding_unsupported/)
  })
})
