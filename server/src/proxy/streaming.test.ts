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

onBothDatabases('a streamed response', (engine) => {
  test('arrives event by event, each before the upstream sends the next', async (t) => {
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

  /** How each header of an upstream comes to an API client, and to a browser or the SDK. */
  type Naming = 'own' | 'prefixed' | 'dropped'
  const names: [string, Naming, Naming][] = [
    // What libraries read.
    ['etag', 'own', 'own'],
    ['link', 'own', 'prefixed'],
    ['location', 'own', 'prefixed'],
    ['refresh', 'own', 'prefixed'],
    ['retry-after', 'own', 'own'],
    ['www-authenticate', 'own', 'prefixed'],
    ['x-ratelimit-remaining', 'own', 'own'],
    // What a browser acts on.
    ['accept-ch', 'own', 'prefixed'],
    ['access-control-allow-origin', 'own', 'prefixed'],
    ['clear-site-data', 'own', 'prefixed'],
    ['content-security-policy-report-only', 'own', 'prefixed'],
    ['cross-origin-opener-policy', 'own', 'prefixed'],
    ['nel', 'own', 'prefixed'],
    ['permissions-policy', 'own', 'prefixed'],
    ['report-to', 'own', 'prefixed'],
    ['service-worker-allowed', 'own', 'prefixed'],
    ['set-login', 'own', 'prefixed'],
    ['speculation-rules', 'own', 'prefixed'],
    ['timing-allow-origin', 'own', 'prefixed'],
    // What is ours in every answer, or about how our origin is reached.
    ['alt-svc', 'prefixed', 'prefixed'],
    ['content-security-policy', 'prefixed', 'prefixed'],
    ['public-key-pins', 'prefixed', 'prefixed'],
    ['strict-transport-security', 'prefixed', 'prefixed'],
    ['x-content-type-options', 'prefixed', 'prefixed'],
    ['x-request-id', 'prefixed', 'prefixed'],
    // What nobody gets: cookies of the account, and names that are ours alone.
    ['set-cookie', 'dropped', 'dropped'],
    ['set-cookie2', 'dropped', 'dropped'],
    ['proxy-authenticate', 'dropped', 'dropped'],
    ['x-sallyport-audit-id', 'dropped', 'dropped'],
    ['x-sallyport-error', 'dropped', 'dropped'],
    ['x-sallyport-link', 'dropped', 'dropped'],
  ]
  const clients: [string, Record<string, string>, 'api' | 'browser'][] = [
    ['a client that says nothing', {}, 'api'],
    ['the fetch of Node, which says this much', { 'sec-fetch-mode': 'cors' }, 'api'],
    ['a page of another origin', { origin: 'https://app.example.com' }, 'browser'],
    ['a page of ours', { 'sec-fetch-site': 'same-origin' }, 'browser'],
    ['somebody who navigates', { 'sec-fetch-mode': 'navigate' }, 'browser'],
    ['whoever has a cookie', { cookie: 'a=b' }, 'browser'],
    ['the SDK', { 'x-sallyport-header-names': 'prefixed' }, 'browser'],
  ]

  test("has the upstream's headers, except those that a client acts on by itself", async (t) => {
    const said = (name: string) => (name === 'location' ? 'https://elsewhere.example/a' : `theirs of ${name}`)
    const calling = await startCalling(t, engine, {
      answer: (response) => {
        response.writeHead(307, Object.fromEntries(names.map(([name]) => [name, said(name)]))).end('hello')
      },
    })
    for (const [client, sent, kind] of clients) {
      const { status, answer } = await calling.stream({}, sent)
      assert.deepEqual([status, await textOf(answer)], [307, 'hello'])
      const { headers } = answer
      const seen = names.map(([name]): [string, Naming] => {
        if (headers[name] === said(name)) return [name, 'own']
        return [name, headers[`x-sallyport-${name}`] === said(name) ? 'prefixed' : 'dropped']
      })
      assert.deepEqual(
        seen,
        names.map(([name, api, browser]) => [name, kind === 'api' ? api : browser]),
        client,
      )
      assert.match(String(headers['x-sallyport-audit-id']), /^aud_[0-9a-z]{26}$/)
      assert.match(String(headers['x-request-id']), /^req_/)
      assert.deepEqual(
        [headers['x-sallyport-upstream'], headers['x-content-type-options'], headers['content-security-policy']],
        ['1', 'nosniff', 'sandbox'],
      )
      assert.equal(headers['x-sallyport-error'], undefined)
    }
  })

  test('has no location on our own routes or with the token', async (t) => {
    let location = ''
    const calling = await startCalling(t, engine, {
      answer: (response) => response.writeHead(307, { location, 'x-two': ['a', 'b'] }).end(),
    })
    const { host } = calling.service.config.baseUrl
    const base = calling.upstream.url
    const locations: [string, string | undefined][] = [
      ['https://elsewhere.example/a?b=c#d', 'https://elsewhere.example/a?b=c#d'],
      ['/v4/agents/rotate-token', new URL('/v4/agents/rotate-token', base).href],
      ['other?page=2', new URL('other?page=2', base).href],
      ['//elsewhere.example/a', 'https://elsewhere.example/a'],
      ['?page=2', `${base}?page=2`],
      [`http://${host}/v4/agents/rotate-token`, undefined],
      [`https://${host.toUpperCase()}/v4/grants`, undefined],
      [`//${host}/v4/grants`, undefined],
      [`\\\\${host}/v4/grants`, undefined],
      ['https://[nowhere', undefined],
      [`https://elsewhere.example/?t=${accessToken}`, 'https://elsewhere.example/?t=[REDACTED]'],
      [`?t=${accessToken.slice(0, 9)}\t${accessToken.slice(9)}`, `${base}?t=[REDACTED]`],
    ]
    for (const [given, expected] of locations) {
      location = given
      const { answer } = await calling.stream()
      assert.equal(answer.headers.location, expected, given)
      assert.equal(answer.headers['x-two'], 'a, b')
      assert.equal(await textOf(answer), '')
    }
  })

  test('has the token redacted in any chunks, and all other bytes', async (t) => {
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

  test('is decoded and has trailers, both without the token', async (t) => {
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

  test('has its length if all of it has arrived and is short', async (t) => {
    let answerWith: Answer = () => undefined
    const calling = await startCalling(t, engine, {
      answer: (response, request) => {
        answerWith(response, request)
      },
    })
    const type = { 'content-type': 'text/plain; charset=latin1' }
    const zipped = { ...type, 'content-encoding': 'gzip' }
    const long = 'x'.repeat(200_000)
    const cases: [headers: object, body: string | Buffer, expected: string, length: string | undefined][] = [
      [type, `a ${accessToken} b`, 'a [REDACTED] b', '14'],
      [{ ...type, 'x-token': accessToken }, '\xe9', '\xc3\xa9', '2'],
      [zipped, gzipSync(`a ${accessToken} b`), 'a [REDACTED] b', '14'],
      [zipped, gzipSync(`${long}${accessToken}`), `${long}[REDACTED]`, undefined],
      [type, `${long}${accessToken}`, `${long}[REDACTED]`, undefined],
      [{}, `a ${accessToken} b`, 'a [REDACTED] b', undefined],
    ]
    for (const [headers, sent, expected, length] of cases) {
      answerWith = (response) => response.writeHead(200, { ...headers }).end(sent)
      const { answer, status } = await calling.stream()
      assert.deepEqual([status, await textOf(answer), answer.headers['content-length']], [200, expected, length])
      assert.equal(answer.headers['content-type'], 'content-type' in headers ? type['content-type'] : undefined)
      assert.equal(answer.headers['x-token'], 'x-token' in headers ? '[REDACTED]' : undefined)
      const { detail } = (await calling.records()).at(-1) ?? assert.fail()
      assert.deepEqual([detail.outcome, detail.bytes, detail.redactions], ['answered', expected.length, 1])
    }
    answerWith = (response) => response.writeHead(200, zipped).end('no gzip')
    const broken = await calling.stream()
    assert.equal(broken.status, 502)
    assert.match(await textOf(broken.answer), /upstream_encoding_unsupported/)
    assert.equal((await calling.records()).at(-1)?.detail.outcome, 'failed')
  })

  test('may have no body: HEAD, 204, 304, and an empty one', async (t) => {
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

  test('of an unsupported encoding is refused before any of it is passed on', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response) => response.writeHead(200, { 'content-encoding': 'x-secret' }).end(accessToken),
    })
    const { status, answer } = await calling.stream()
    assert.deepEqual([status, answer.headers['x-sallyport-error']], [502, '1'])
    assert.match(await textOf(answer), /upstream_encoding_unsupported/)
  })
})
