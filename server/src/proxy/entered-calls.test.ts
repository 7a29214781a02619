import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { adasKey, adasNewKey, startEntered } from '../../testkit/entered-credentials.ts'
import type { EnteredOptions } from '../../testkit/entered-credentials.ts'

/** As Telegram's are, with a colon. */
const botToken = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw'

/** Echoes the request, credential included. */
const echo: EnteredOptions['answer'] = (response, { method, path, headers, body }) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ method, path, headers, body }))
}

const onOneLine = { format: 'text', host: null, optional: false, pattern: null }

const inPath = { in: 'path', name: '/{credential}/', template: 'bot{api_key}' }
const inFilePath = { in: 'path', name: '/file/{credential}/', template: 'bot{api_key}' }

onBothDatabases('a call with an entered credential', (engine) => {
  test('basic: user name and password in UTF-8, and nothing of them comes back', async (t) => {
    const { connect, grantOn, upstream } = await startEntered(t, engine, {
      methods: (host) => [{ kind: 'basic', check: { url: `https://${host}/me` } }],
      answer: echo,
    })
    const password = 'pässword-of-sixteen-or-more'
    const value = Buffer.from(`ada:${password}`).toString('base64')
    const { body } = await connect({ username: 'ada', password })
    const { proxy } = await grantOn(body.connection_id)
    const answer = await proxy({ headers: { authorization: 'Basic b3duOm93bg==' } })
    assert.deepEqual(
      upstream.received.map(({ headers }) => headers.authorization),
      [`Basic ${value}`, `Basic ${value}`],
    )
    assert.deepEqual(answer.body.dropped_headers, ['authorization'])
    assert.equal(answer.body.body.headers.authorization, 'Basic [REDACTED]')
    assert.ok(!answer.text.includes(value.slice(0, 20)) && answer.body.redactions > 0)
  })

  test('basic: a key may be the user name; one of the two may be empty, not both', async (t) => {
    const members = [
      { name: 'username', label: 'Secret key', secret: true },
      { name: 'password', secret: false },
    ]
    const { connect, grantOn, upstream } = await startEntered(t, engine, {
      methods: () => [
        { kind: 'basic', name: 'key', members },
        { kind: 'basic', name: 'password' },
      ],
      answer: echo,
    })
    const { body } = await connect({ username: adasKey, password: '' }, { auth_method: 'key' })
    const { proxy } = await grantOn(body.connection_id)
    await proxy()
    assert.equal(upstream.received[0]?.headers.authorization, `Basic ${Buffer.from(`${adasKey}:`).toString('base64')}`)
    assert.equal((await connect({ username: '', password: adasKey }, { auth_method: 'password' })).status, 201)
    const refusals: [object, string, string][] = [
      [{ username: '', password: '' }, 'key', 'credential.username'],
      [{ username: 'ada', password: '' }, 'password', 'credential.password'],
      [{ username: 'ada:lovelace', password: adasKey }, 'password', 'credential.username'],
      [{ username: 'ada', password: 'hunter2' }, 'password', 'credential.password'],
    ]
    for (const [credential, auth_method, field] of refusals) {
      const { status, body } = await connect(credential, { auth_method })
      assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', field])
    }
  })

  test('query: the key is added, and the caller’s own parameter is dropped however spelt', async (t) => {
    const { connect, grantOn, upstream, log, ...service } = await startEntered(t, engine, {
      methods: () => [{ kind: 'api_key', inject: [{ in: 'query', name: 'api_key', template: '{api_key}' }] }],
      answer: echo,
      settings: { SALLYPORT_LOG_LEVEL: 'debug' },
    })
    const { body } = await connect({ api_key: `${adasKey}+/=&` })
    const { proxy } = await grantOn(body.connection_id)
    const key = encodeURIComponent(`${adasKey}+/=&`)
    const queries = [
      '',
      '?a=1%20b+c',
      '?api_key=own&b',
      '?b=2&API%5Fkey=own;x=3',
      '?%61pi%5fKEY=own',
      '?api_key[]=own&api.key=own',
    ]
    for (const query of queries) {
      const answer = await proxy({ url: `${upstream.url}${query}` })
      assert.ok(!answer.text.includes(adasKey) && answer.body.redactions > 0)
    }
    assert.deepEqual(
      upstream.received.map(({ path }) => path),
      ['', 'a=1%20b+c&', 'b&', 'b=2&x=3&', '', ''].map((kept) => `/things?${kept}api_key=${key}`),
    )
    const attempts = (await recorded({ ...service, app: service.app }, 'proxy.')).map(({ detail }) => detail)
    assert.ok(!`${JSON.stringify(attempts)}${log.join('')}`.includes(adasKey))
  })

  test('path: one segment is replaced, after policy and record have seen a placeholder', async (t) => {
    const { connect, grantOn, upstream, log, ...service } = await startEntered(t, engine, {
      methods: (host) => [
        {
          kind: 'api_key',
          inject: [inPath, inFilePath],
          check: { url: `https://${host}/{credential}/getMe` },
        },
      ],
      answer: echo,
      settings: { SALLYPORT_LOG_LEVEL: 'debug' },
    })
    const { status, body } = await connect({ api_key: botToken })
    assert.equal(status, 201)
    const { proxy } = await grantOn(body.connection_id)
    const at = `https://${upstream.host}`
    const paths = [
      '/bot123/sendMessage?a=%2F',
      '/{credential}/getMe',
      '/x/{credential}/y',
      '/file/any/photos/1.jpg',
      '/anything',
    ]
    for (const path of paths) assert.equal((await proxy({ url: at + path })).body.status, 200)
    assert.deepEqual(
      upstream.received.map(({ path }) => path),
      [
        `/bot${botToken}/getMe`,
        `/bot${botToken}/sendMessage?a=%2F`,
        `/bot${botToken}/getMe`,
        `/bot${botToken}/%7Bcredential%7D/y`,
        `/file/bot${botToken}/photos/1.jpg`,
        `/bot${botToken}`,
      ],
    )
    const attempts = (await recorded({ ...service, app: service.app }, 'proxy.attempt')).map(
      ({ detail }) => detail.path,
    )
    assert.deepEqual(attempts, [
      '/%7Bcredential%7D/sendMessage',
      '/%7Bcredential%7D/getMe',
      '/%7Bcredential%7D/%7Bcredential%7D/y',
      '/file/%7Bcredential%7D/photos/1.jpg',
      '/%7Bcredential%7D',
    ])
    assert.ok(!log.join('').includes(botToken.slice(12)))
  })

  test('path: a grant is limited to paths with the placeholder, and the upstream cannot be made to show the token', async (t) => {
    const { connect, grantOn, upstream, database } = await startEntered(t, engine, {
      methods: () => [{ kind: 'api_key', inject: [inPath] }],
      answer: (response, { path }) => {
        if (path.endsWith('/hop'))
          response.writeHead(302, { location: `${path.replace('/hop', '/getMe')}?t=${path}&end` }).end()
        else response.setHeader('content-type', 'text/plain').end(`no route ${path} ${encodeURIComponent(path)}`)
      },
    })
    const { body } = await connect({ api_key: botToken })
    const { proxy, grantId } = await grantOn(body.connection_id)
    const allowed_paths = JSON.stringify(['/%7Bcredential%7D/getMe', '/%7Bcredential%7D/hop'])
    await database.queries.updateTable('grants').set({ allowed_paths }).where('grant_id', '=', grantId).execute()
    const at = `https://${upstream.host}`
    const allowed = await proxy({ url: `${at}/anything/getMe` })
    assert.equal(allowed.body.status, 200)
    assert.ok(!allowed.text.includes(botToken) && allowed.body.redactions >= 2)
    assert.equal((await proxy({ url: `${at}/anything/sendMessage` })).body.error.code, 'path_not_allowed')
    const hop = await proxy({ url: `${at}/x/hop` })
    assert.equal(hop.body.status, 302)
    assert.ok(!hop.text.includes(botToken))
    const followed = await proxy({ url: `${at}/x/hop`, follow_redirects: true })
    assert.equal(followed.body.status, 200)
    assert.equal(upstream.received.at(-1)?.path.startsWith(`/bot${botToken}/getMe?t=`), true)
    assert.ok(!followed.text.includes(botToken))
  })

  test('several members, templates and hosts: each place gets what belongs there', async (t) => {
    const { connect, grantOn, upstream, call } = await startEntered(t, engine, {
      methods: (host) => [
        {
          kind: 'api_key',
          members: [
            { name: 'api_key' },
            { name: 'app_key', label: 'Application key' },
            { name: 'site', secret: false },
          ],
          inject: [
            { in: 'header', name: 'DD-API-KEY', template: '{api_key}', hosts: [host] },
            { in: 'header', name: 'DD-APPLICATION-KEY', template: 'site={site} key={app_key}' },
            {
              in: 'header',
              name: 'authorization',
              template: 'Basic {base64(x-access-token:{api_key})}',
              paths: ['/*/*/info/refs'],
            },
            { in: 'header', name: 'x-other', template: '{api_key}', hosts: ['other.example.com'] },
          ],
        },
      ],
      apiHosts: (host) => [host, 'other.example.com'],
      answer: echo,
    })
    const { body } = await connect({ api_key: adasKey, app_key: adasNewKey, site: 'eu' })
    const { proxy } = await grantOn(body.connection_id)
    await proxy({ headers: { dd_api_key: 'own', 'X-Other': 'own' } })
    await proxy({ url: `https://${upstream.host}/ada/things/info/refs?service=git-upload-pack` })
    await proxy({ url: `https://${upstream.host}/ada/things/extra/info/refs` })
    const sent = upstream.received.map(({ headers }) => [
      headers['dd-api-key'],
      headers['dd-application-key'],
      headers.authorization,
      headers['x-other'],
    ])
    const both = [adasKey, `site=eu key=${adasNewKey}`]
    const git = `Basic ${Buffer.from(`x-access-token:${adasKey}`).toString('base64')}`
    assert.deepEqual(sent, [
      [...both, undefined, undefined],
      [...both, git, undefined],
      [...both, undefined, undefined],
    ])
    const dry = await proxy({ dry_run: true })
    assert.deepEqual(dry.body.would_inject, { header: 'dd-api-key', value: '[REDACTED]' })
    const providers = await call('GET', '/v4/providers')
    assert.deepEqual(providers.body.providers[0].auth_methods, [
      {
        ...{ kind: 'api_key', name: 'api_key', label: null, help: null, checks: 'nothing' },
        members: [
          { name: 'api_key', label: null, secret: true, ...onOneLine },
          { name: 'app_key', label: 'Application key', secret: true, ...onOneLine },
          { name: 'site', label: null, secret: false, ...onOneLine },
        ],
      },
    ])
  })

  test('a host of many tenants: the credential goes to the account’s own host alone', async (t) => {
    const { connect, grantOn, upstream } = await startEntered(t, engine, {
      methods: (host) => [
        {
          kind: 'basic',
          members: [{ name: 'subdomain', host: `{subdomain}.example.com:${host.split(':')[1] ?? ''}` }],
        },
      ],
      apiHosts: (host) => [`*.example.com:${host.split(':')[1] ?? ''}`],
      settings: {},
      answer: echo,
      lookup: () => Promise.resolve([{ address: '127.0.0.1' }]),
    })
    const port = upstream.host.split(':')[1] ?? ''
    for (const subdomain of ['Acme', 'acme.evil', 'a/b', '-acme', '', 'x'.repeat(64), '*', 'acme@evil']) {
      const { status, body } = await connect({ subdomain, username: 'ada', password: adasKey })
      assert.deepEqual([status, body.error.field], [400, 'credential.subdomain'], subdomain)
    }
    const { status, body } = await connect({ subdomain: 'acme', username: 'ada', password: adasKey })
    assert.equal(status, 201)
    const { proxy } = await grantOn(body.connection_id, [`*.example.com:${port}`])
    const elsewhere = await proxy({ url: `https://globex.example.com:${port}/` })
    assert.equal(elsewhere.body.error.code, 'host_not_allowed')
    // Its host was shaped by a person, so it may not lead to a private address, unless the operator lists it.
    const own = await proxy({ url: `https://acme.example.com:${port}/` })
    assert.equal(own.body.error.code, 'address_not_allowed')
    assert.deepEqual(upstream.received, [])
  })
})
