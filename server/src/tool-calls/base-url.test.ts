/** Base URLs are served from the console's origin: no browser gets anything there, and no answer leads a key elsewhere. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessToken, startCalling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startTools } from '../../testkit/tool-calling.ts'
import type { ToolReply } from '../../testkit/tool-calling.ts'

const codeOf = ({ status, body }: ToolReply) => [status, body?.error?.code]

onBothDatabases('a base URL', (engine) => {
  test('takes the key as bearer token, password or API key, and passes none of them on', async (t) => {
    const calling = await startCalling(t, engine)
    const { key, call } = await startTools(t, calling)
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
    const ways: Record<string, string>[] = [
      { authorization: `Bearer ${key}` },
      { authorization: `token ${key}` },
      basic(`anyone:${key}`),
      { authorization: `Bearer ${key}`, 'x-api-key': key, 'x-goog-api-key': key },
    ]
    for (const headers of ways) {
      assert.equal((await call('/things', { headers })).status, 200, JSON.stringify(headers))
      const got = JSON.stringify(calling.upstream.received.at(-1)?.headers)
      assert.ok(!got.includes(key) && !got.includes('sp_key_') && got.includes(accessToken), got)
    }
  })

  test('takes it nowhere else, and no other credential', async (t) => {
    const calling = await startCalling(t, engine)
    const { service, agent, upstream } = calling
    const { key, base, send } = await startTools(t, calling)
    const user = await service.logIn({ user_id: calling.userId })
    const none = { authorization: [] as string[] }
    const refused: [string, Record<string, string | string[]>, number][] = [
      [`${base}/things?key=${key}`, none, 401],
      [`${base}/${key}/things`, none, 401],
      [`${base}/things`, none, 401],
      [`${base}/things`, { ...none, 'x-goog-api-key': key }, 401],
      [`${base}/things`, { authorization: `Bearer ${agent.token}` }, 401],
      [`${base}/things`, { authorization: `Bearer ${user.token}` }, 401],
      [`${base}/things`, { authorization: `Bearer ${service.adminToken}` }, 401],
      [`${base}/things`, { authorization: `Bearer x`, 'x-api-key': key }, 401],
    ]
    for (const [path, headers, status] of refused) {
      const reply = await send(path, { headers })
      assert.equal(reply.status, status, path)
      assert.match(String(reply.headers['www-authenticate']), /^Basic realm="Sallyport"/)
    }
    // Nor is the key recorded with the path, if it is sent along.
    for (const path of [`${base}/things?key=${key}`, `${base}/${key}/things`]) {
      assert.deepEqual(codeOf(await send(path)), [400, 'invalid_url'])
    }
    assert.ok(!JSON.stringify(await calling.records()).includes(key))
    assert.equal(upstream.received.length, 0)
  })

  test('opened in a browser that is signed in, shows nothing and calls nothing', async (t) => {
    const calling = await startCalling(t, engine, { answer: (response) => response.end('<script>alert(1)</script>') })
    const { service, upstream } = calling
    const { call, base, send } = await startTools(t, calling)
    const { cookie } = await service.logIn({ user_id: calling.userId })
    const browsers: Record<string, string>[] = [
      { cookie },
      { origin: service.config.baseUrl.origin },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
      { 'sec-fetch-mode': 'navigate' },
      { 'service-worker': 'script' },
    ]
    for (const headers of browsers) {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const reply = await call('/things', { method, headers })
        assert.deepEqual(codeOf(reply), [403, 'forbidden'], JSON.stringify(headers))
        assert.equal(reply.headers['content-security-policy'], 'sandbox')
      }
    }
    assert.deepEqual(codeOf(await send(`${base}/things`, { headers: { authorization: [], cookie } })), [
      403,
      'forbidden',
    ])
    assert.equal(upstream.received.length, 0)
    // The fetch of Node sends this header alone.
    const { status, headers } = await call('/things', { headers: { 'sec-fetch-mode': 'cors' } })
    assert.equal(status, 200)
    assert.deepEqual(
      ['content-security-policy', 'x-content-type-options', 'cross-origin-resource-policy'].map(
        (name) => headers[name],
      ),
      ['sandbox', 'nosniff', 'same-origin'],
    )
  })

  test('leads on to base URLs of the grant, and nowhere else', async (t) => {
    const answers: Record<string, string | string[]>[] = []
    const calling = await startCalling(t, engine, {
      answer: (response) => response.writeHead(302, answers.at(-1)).end(),
    })
    const { upstream, service } = calling
    const { call, base } = await startTools(t, calling)
    const at = `${service.config.baseUrl.origin}${base}`
    const get = async (headers: Record<string, string | string[]>) => {
      answers.push(headers)
      return (await call('/things/1?page=1')).headers
    }
    const locations: [string, string | undefined][] = [
      ['/things/2', `${at}/things/2`],
      ['?page=2', `${at}/things/1?page=2`],
      ['2', `${at}/things/2`],
      [`https://${upstream.host}/a?b=c#d`, `${at}/a?b=c#d`],
      [`//${upstream.host}/a`, `${at}/a`],
      ['https://elsewhere.example/a', undefined],
      [`http://${upstream.host}/a`, undefined],
      [`https://${upstream.host}.elsewhere.example/a`, undefined],
      [`https://${upstream.host}@elsewhere.example/a`, undefined],
      [`${service.config.baseUrl.origin}/v4/grants`, undefined],
      ['javascript:alert(1)', undefined],
      [`/a?token=${accessToken}`, `${at}/a?token=[REDACTED]`],
      [`/a?token=${accessToken.slice(0, 9)}\t${accessToken.slice(9)}`, `${at}/a?token=[REDACTED]`],
    ]
    for (const [given, expected] of locations) {
      const { location, 'x-sallyport-location': other } = await get({ location: given })
      assert.equal(location, expected, given)
      if (expected === undefined) assert.equal(other, given)
    }
    const next = `<https://${upstream.host}/things?page=2>; rel="next"`
    const { link, 'x-sallyport-link': away } = await get({
      link: `${next}, <https://elsewhere.example/>; rel="last", </things?page=9>; rel="first"; title="a, b"`,
    })
    assert.equal(link, `<${at}/things?page=2>; rel="next", <${at}/things?page=9>; rel="first"; title="a, b"`)
    assert.equal(away, '<https://elsewhere.example/>; rel="last"')
    const rest = await get({
      ...{ refresh: '0; url=https://elsewhere.example', 'clear-site-data': '"*"', 'service-worker-allowed': '/' },
      ...{ 'cache-control': 'public, max-age=60, s-maxage=600', 'www-authenticate': 'Basic realm="api"' },
    })
    assert.deepEqual(
      ['refresh', 'clear-site-data', 'service-worker-allowed', 'cache-control', 'www-authenticate'].map(
        (name) => rest[name],
      ),
      [undefined, undefined, undefined, 'private, max-age=60', 'Basic realm="api"'],
    )
  })

  test('is refused unless host and path are written in their one normal form', async (t) => {
    const calling = await startCalling(t, engine)
    const { upstream, grantId } = calling
    const { send, call, base } = await startTools(t, calling)
    const to = (host: string, path = '/things') => `/v4/proxy/${grantId}/${host}${path}`
    const port = upstream.host.split(':')[1] ?? ''
    const malformed = [
      to(`LOCALHOST:${port}`),
      to(`localhost.:${port}`),
      to(`user@localhost:${port}`),
      to(`user:pass@localhost:${port}`),
      to(`localhost%3A${port}`),
      to(`localhost:0${port}`),
      to('localhost:443'),
      to(`local\u0000host`.replace('\u0000', '%00')),
      to(''),
      `${base}/a/../things`,
      `${base}/a/%2e%2e/things`,
      `${base}/a/%2E./things`,
      `${base}/./things`,
      `${base}\\things`,
      `${base}/a\\..\\things`,
      `${base}/things#fragment`,
      `${base}/"things"`,
      `/v4/%70roxy/${grantId}/${upstream.host}/things`,
      `http://localhost:8787${base}/things`,
    ]
    for (const target of malformed) {
      const { status, body } = await send(target)
      assert.ok([400, 404].includes(status), `${target} ${status}`)
      assert.ok(['invalid_url', 'invalid_http', 'not_found'].includes(body.error.code as string), target)
    }
    const others: [string, string][] = [
      [to('elsewhere.example'), 'host_not_allowed'],
      [to('127.0.0.1'), 'invalid_url'],
      [to('localhost'), 'host_not_allowed'],
    ]
    for (const [target, code] of others) assert.equal((await send(target)).body.error.code, code, target)
    assert.equal(upstream.received.length, 0)
    // What is unusual but has one form is sent as it is written.
    for (const path of ['/a%2Fb', '/a//b', '/a;v=1', '/%7Bid%7D', '/things/', '/', '', '?a=%2e%2e/', '/a|b', '/%zz']) {
      assert.equal((await call(path)).status, 200, path)
      const sent = path.startsWith('/') ? path : `/${path}`
      assert.equal(upstream.received.at(-1)?.path, sent)
    }
  })

  test('keeps to the paths of the grant, however they are written', async (t) => {
    const calling = await startCalling(t, engine, { terms: { allowedPaths: ['/open/*'] } })
    const { call } = await startTools(t, calling)
    for (const path of [
      '/closed',
      '/open/..%2fclosed',
      '/open/%2e%2e%2fclosed',
      '/open/..;/closed',
      '/open%2f..%2fclosed',
    ]) {
      const reply = await call(path)
      assert.ok([400, 403].includes(reply.status), path)
    }
    assert.equal(calling.upstream.received.length, 0)
    assert.equal((await call('/open/a')).status, 200)
  })
})
