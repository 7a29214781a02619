import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessToken, soon, startCalling, startUpstream } from '../../testkit/calling.ts'
import type { Answer, Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'

/** Redirects /things, and responds at every other path. */
function redirecting(status: number, location: string | Buffer, body?: string): Answer {
  return (response, { path }) => {
    if (path !== '/things') return response.end(`here: ${path}`)
    response.writeHead(status, { location: location.toString('latin1') })
    return response.end(body)
  }
}

function seen({ upstream }: Calling): string[] {
  return upstream.received.map(({ method, path, body }) => `${method} ${path}${body === '' ? '' : ` ${body}`}`)
}

onBothDatabases('a redirect', (engine) => {
  test('is the response, unless the caller wants it followed', async (t) => {
    const calling = await startCalling(t, engine, { answer: redirecting(302, '/next') })
    const { body } = await calling.proxy()
    assert.deepEqual([body.status, body.headers.location], [302, '/next'])
    assert.deepEqual(seen(calling), ['GET /things'])
  })

  test('counts against the rate limit, beyond which it is the response', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response) => response.writeHead(302, { location: '/on' }).end(),
      settings: { SALLYPORT_PROXY_RATE_PER_AGENT: '1', SALLYPORT_PROXY_BURST_PER_AGENT: '3' },
    })
    const { status, body } = await calling.proxy({ follow_redirects: true })
    assert.deepEqual([status, body.status], [200, 302])
    assert.deepEqual(seen(calling), ['GET /things', 'GET /on', 'GET /on'])
    assert.equal((await calling.proxy()).status, 429)
  })

  test('is followed with the token, checked, counted and recorded with one audit_id', async (t) => {
    const calling = await startCalling(t, engine, { answer: redirecting(302, '/next?q=value#part') })
    const { body } = await calling.proxy({ follow_redirects: true })
    assert.deepEqual([body.status, body.body], [200, 'here: /next?q=value'])
    assert.equal(calling.upstream.received[1]?.headers.authorization, `Bearer ${accessToken}`)
    const records = await calling.records()
    assert.deepEqual(
      records.map(({ event, detail }) => [event, detail.path, detail.query, detail.why]),
      [
        ['proxy.attempt', '/things', [], undefined],
        ['proxy.hop', '/next', ['q'], 'redirect'],
        ['proxy.outcome', undefined, undefined, undefined],
      ],
    )
    assert.deepEqual([...new Set(records.map(({ audit_id }) => audit_id))], [body.audit_id])
    const { queries } = calling.service.database
    const { calls } = await queries.selectFrom('grant_usage').select('calls').executeTakeFirstOrThrow()
    assert.equal(calls, 2)
  })

  test('that repeats the token leaks it neither to the record nor to the log', async (t) => {
    const encoded = Buffer.from(accessToken).toString('base64url')
    // Long enough to be cut, within the token, where it is put on record.
    const path = `/${'x'.repeat(1000)}/${accessToken}`
    const calling = await startCalling(t, engine, { answer: redirecting(302, `${path}?${encoded}=1&q=${accessToken}`) })
    const { body } = await calling.proxy({ follow_redirects: true })
    assert.equal(body.status, 200)
    const [hop] = (await calling.records()).filter(({ event }) => event === 'proxy.hop')
    assert.deepEqual(hop?.detail.query, ['[REDACTED]', 'q'])
    assert.match(hop.detail.path, /x\/\[REDACTED\]$/)
    const { token } = calling.agent
    const record = await calling.service.call('GET', '/v4/audit', { token })
    assert.match(JSON.stringify(record.body), /\[REDACTED\]/)
    const written = `${JSON.stringify(record.body)}${calling.service.log.join('')}`
    for (const part of [accessToken.slice(0, 20), encoded.slice(0, 30)]) assert.ok(!written.includes(part), part)
  })

  test('keeps the method and body or becomes a GET, as in fetch', async (t) => {
    const cases: [number, string, string][] = [
      [301, 'POST', 'GET /next'],
      [302, 'POST', 'GET /next'],
      [303, 'POST', 'GET /next'],
      [303, 'PUT', 'GET /next'],
      [303, 'HEAD', 'HEAD /next'],
      [301, 'PUT', 'PUT /next a body'],
      [302, 'DELETE', 'DELETE /next a body'],
      [307, 'POST', 'POST /next a body'],
      [308, 'POST', 'POST /next a body'],
    ]
    let status = 0
    const calling = await startCalling(t, engine, {
      answer: (response, request) => {
        redirecting(status, '/next')(response, request)
      },
    })
    for (const [given, method, expected] of cases) {
      status = given
      const sent = method === 'HEAD' ? {} : { body: 'a body', headers: { 'content-type': 'text/plain' } }
      await calling.proxy({ method, follow_redirects: true, ...sent })
      assert.equal(seen(calling).at(-1), expected, `${given} ${method}`)
      const type = calling.upstream.received.at(-1)?.headers['content-type']
      assert.equal(type, expected.endsWith('a body') ? 'text/plain' : undefined)
    }
    for (const other of [300, 304, 305, 399]) {
      status = other
      assert.equal((await calling.proxy({ follow_redirects: true })).body.status, other)
      assert.equal(seen(calling).at(-1), 'GET /things')
    }
  })

  test('outside the grant is the response, and that host gets no request', async (t) => {
    const other = await startUpstream(t)
    let location = ''
    const calling = await startCalling(t, engine, {
      terms: { allowedPaths: ['/things', '/next'] },
      answer: (response, request) => {
        redirecting(302, location)(response, request)
      },
    })
    const { host } = calling.upstream
    for (location of [
      other.url,
      `//${other.host}/next`,
      `http://${host}/next`,
      `https://me:secret@${host}/next`,
      `https://${host.replace('localhost', '127.0.0.1')}/next`,
      '/elsewhere',
      '/next/../elsewhere',
      '/next?access_token=mine',
      'ftp://localhost/next',
      'javascript:alert(1)',
      'https://',
      'https://[',
      'data:text/plain,hello',
    ]) {
      const { body } = await calling.proxy({ follow_redirects: true })
      assert.deepEqual([body.status, body.headers.location], [302, location])
    }
    assert.deepEqual(new Set(seen(calling)), new Set(['GET /things']))
    assert.equal(other.connections(), 0)
  })

  test('may be relative, unusual or invalid', async (t) => {
    let location: string | Buffer = ''
    const calling = await startCalling(t, engine, {
      answer: (response, request) => {
        redirecting(302, location)(response, request)
      },
    })
    const cases: [string | Buffer, string][] = [
      ['next', '/next'],
      ['./next', '/next'],
      ['/a/../next', '/next'],
      ['?q=1', '/things?q=1'],
      ['/a b', '/a%20b'],
      [Buffer.from('/é'), '/%C3%A9'],
      [`//${calling.upstream.host}/next`, '/next'],
      ['\\next', '/next'],
      ['https:/next', '/next'],
    ]
    for (const [given, expected] of cases) {
      location = given
      await calling.proxy({ follow_redirects: true })
      assert.equal(calling.upstream.received.at(-1)?.path, expected, String(given))
    }
    location = ''
    assert.equal((await calling.proxy({ follow_redirects: true })).body.status, 302)
  })
})

onBothDatabases('a chain of redirects', (engine) => {
  const round: Answer = (response, { path }) => response.writeHead(302, { location: `${path}x` }).end('round')

  test('is followed five times; the sixth redirect is the response', async (t) => {
    const calling = await startCalling(t, engine, { answer: round })
    const { body } = await calling.proxy({ follow_redirects: true })
    assert.deepEqual([body.status, body.headers.location, body.body], [302, '/thingsxxxxxx', 'round'])
    assert.equal(calling.upstream.received.length, 6)
  })

  test('ends when the grant is used up, with the last response', async (t) => {
    const calling = await startCalling(t, engine, { answer: round, terms: { maxCalls: 3 } })
    const { status, body } = await calling.proxy({ follow_redirects: true })
    assert.deepEqual([status, body.status, body.headers?.location], [200, 302, '/thingsxxx'])
    assert.equal(calling.upstream.received.length, 3)
    assert.equal((await calling.proxy()).body.error.code, 'grant_exhausted')
  })

  test('ends with its grant, without a request to the next host', async (t) => {
    const calling: Calling = await startCalling(t, engine, {
      answer: (response, request) => {
        const { queries } = calling.service.database
        void queries
          .updateTable('grants')
          .set({ revoked_at: 1 })
          .execute()
          .then(() => {
            round(response, request)
          })
      },
    })
    assert.equal((await calling.proxy({ follow_redirects: true })).body.error.code, 'grant_revoked')
    assert.equal(calling.upstream.received.length, 1)
  })

  test('releases the unread responses, however long they are', async (t) => {
    const gaveUp = Promise.withResolvers<undefined>()
    const calling = await startCalling(t, engine, {
      answer: (response, { path }) => {
        if (path === '/next') return response.end('done')
        response.on('close', () => {
          gaveUp.resolve(undefined)
        })
        response.writeHead(302, { location: '/next' })
        return response.write('x'.repeat(1_000_000))
      },
    })
    const { answer } = await calling.stream({ follow_redirects: true })
    assert.equal((await answer.toArray()).join(''), 'done')
    await soon(gaveUp.promise)
  })
})
