import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { base, begin, endOf, invite, newBrowser, serviceIn, signInWith, startLoginWorld } from '../../testkit/login.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { mintToken } from '../platform/tokens.ts'

const world = await startLoginWorld()
const { oidc, github } = world

async function flowsIn({ database }: TestService): Promise<number> {
  return (await database.queries.selectFrom('login_flows').selectAll().execute()).length
}

onBothDatabases('browser login', (engine) => {
  test('anyone can list the sign-in methods, including those turned off', async (t) => {
    const off = await startService(t, engine)
    assert.deepEqual((await off.call('GET', '/v4/auth/providers')).body, {
      providers: [
        { id: 'github', type: 'github', name: 'GitHub', enabled: false, login_url: null },
        { id: 'oidc', type: 'oidc', name: 'Single sign-on', enabled: false, login_url: null },
      ],
    })
    const on = await serviceIn(world, t, engine, { SALLYPORT_OIDC_NAME: 'Example Inc.' })
    assert.deepEqual((await on.call('GET', '/v4/auth/providers')).body, {
      providers: [
        { id: 'github', type: 'github', name: 'GitHub', enabled: true, login_url: `${base}/v4/auth/login/github` },
        { id: 'oidc', type: 'oidc', name: 'Example Inc.', enabled: true, login_url: `${base}/v4/auth/login/oidc` },
      ],
    })
  })

  test('an unknown or disabled sign-in method is not found', async (t) => {
    const service = await startService(t, engine)
    for (const path of ['login/oidc', 'login/github', 'login/else', 'callback/oidc?code=a&state=b', 'callback/else']) {
      const { status, body } = await service.call('GET', `/v4/auth/${path}`)
      assert.deepEqual([status, body.error.code], [404, 'not_found'], path)
    }
  })

  test('the start redirects with PKCE, state and nonce, and sets a cookie for ten minutes', async (t) => {
    const service = await serviceIn(world, t, engine)
    const { status, headers } = await service.call('GET', '/v4/auth/login/oidc')
    assert.equal(status, 302)
    const { origin, searchParams: asked } = new URL(String(headers['location']))
    assert.equal(origin, oidc.issuer)
    assert.deepEqual(
      ['response_type', 'code_challenge_method', 'redirect_uri', 'scope'].map((name) => asked.get(name)),
      ['code', 'S256', `${base}/v4/auth/callback/oidc`, 'openid email profile'],
    )
    for (const name of ['state', 'nonce', 'code_challenge']) assert.match(asked.get(name) ?? '', /^[\w-]{43}$/)
    assert.match(
      String(headers['set-cookie']),
      /^svc_login=sp_prelogin_[0-9A-Za-z]{49}; Max-Age=600; Path=\/v4\/auth; HttpOnly; Secure; SameSite=Lax$/,
    )
    assert.equal(headers['cache-control'], 'no-store')

    const local = await serviceIn(world, t, engine, { SALLYPORT_BASE_URL: 'http://localhost:8787' })
    const plain = (await local.call('GET', '/v4/auth/login/github')).headers
    assert.match(String(plain['set-cookie']), /Path=\/v4\/auth; HttpOnly; SameSite=Lax$/)
    const atGitHub = new URL(String(plain['location']))
    assert.deepEqual([atGitHub.searchParams.get('nonce'), atGitHub.searchParams.get('scope')], [null, 'user:email'])
  })

  test('an invited user signs in, and it is recorded', async (t) => {
    const service = await serviceIn(world, t, engine)
    const userId = await invite(service, 'ada@example.com', 'Ada')
    const browser = newBrowser(service)
    const callback = await oidc.approve(await begin(browser, 'oidc'), { account: 'ada' })
    const reply = await browser.open(callback)
    assert.equal(endOf(reply), '/')
    const [cleared, session] = [reply.headers['set-cookie'] ?? []].flat().map(String)
    assert.match(cleared ?? '', /^svc_login=; Max-Age=0; Path=\/v4\/auth; Expires=.*; HttpOnly; Secure; SameSite=Lax$/)
    assert.match(session ?? '', /^svc_session=sp_session_\w+; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
    assert.equal((await browser.user())?.user_id, userId)

    const me = await browser.open('/v4/auth/me')
    const [linked, started] = (await recorded(service)).slice(-2)
    const requestId = reply.headers['x-request-id']
    assert.deepEqual(
      [linked?.event, linked?.user_id, linked?.request_id, linked?.detail],
      ['identity.linked', userId, requestId, { via: 'oidc', issuer: oidc.issuer, subject: 'ada' }],
    )
    assert.deepEqual(
      [started?.event, started?.user_id, started?.request_id, started?.detail],
      ['session.started', userId, requestId, { session_id: me.body.session.session_id, via: 'oidc' }],
    )

    assert.equal(await signInWith(world, newBrowser(service), 'oidc', 'ada'), '/')
    assert.equal((await recorded(service, 'identity.linked')).length, 1)
    assert.equal((await recorded(service, 'session.started')).length, 2)
  })

  test('the browser is redirected only to paths of this service', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const browser = newBrowser(service)
    const url = await begin(browser, 'github', `?redirect_after=${encodeURIComponent('/?connect=waiting#a')}`)
    assert.equal(endOf(await browser.open(await github.approve(url))), '/?connect=waiting#a')
    const elsewhere = ['//evil.example', '/\\evil.example', 'https://evil.example/', '/.//evil.example', '', 'x']
    for (const target of [...elsewhere, '/\t/evil.example', 'javascript:alert(1)', `/${'x'.repeat(2000)}`]) {
      const { status, body } = await browser.open(`/v4/auth/login/oidc?redirect_after=${encodeURIComponent(target)}`)
      assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', 'redirect_after'], target)
    }
  })

  test('a callback works once', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const browser = newBrowser(service)
    const callback = await oidc.approve(await begin(browser, 'oidc'))
    const cookie = browser.cookies.get('svc_login') ?? ''
    assert.equal(endOf(await browser.open(callback)), '/')
    assert.equal(await flowsIn(service), 0)
    assert.equal(endOf(await browser.open(callback)), '/?error=invalid_state', 'without its cookie')
    browser.cookies.set('svc_login', cookie)
    assert.equal(endOf(await browser.open(callback)), '/?error=invalid_state', 'with the cookie kept')
    assert.equal((await recorded(service, 'session.started')).length, 1)
  })

  test('of twenty concurrent callbacks one succeeds, and the provider gets one code', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const browser = newBrowser(service)
    const callback = await oidc.approve(await begin(browser, 'oidc'), { account: 'racer' })
    const headers = { cookie: `svc_login=${browser.cookies.get('svc_login')}` }
    const exchanges = () => oidc.calls.filter(({ path }) => path === '/token').length
    const before = exchanges()
    const { pathname, search } = new URL(callback)
    const all = await Promise.all(Array.from({ length: 20 }, () => service.call('GET', pathname + search, { headers })))
    const ends = all.map(endOf)
    assert.equal(ends.filter((end) => end === '/').length, 1)
    assert.equal(ends.filter((end) => end === '/?error=invalid_state').length, 19)
    assert.equal(exchanges() - before, 1)
    assert.equal((await recorded(service, 'session.started')).length, 1)
  })

  test("an attacker's callback link does nothing in another browser, signed in or not", async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const attacker = newBrowser(service)
    const link = await oidc.approve(await begin(attacker, 'oidc'), { account: 'attacker' })
    const victim = newBrowser(service)
    assert.equal(endOf(await victim.open(link)), '/?error=invalid_state')
    assert.equal(await victim.user(), undefined)

    await signInWith(world, victim, 'oidc', 'victim')
    const before = (await victim.user())?.user_id
    assert.equal(endOf(await victim.open(link)), '/?error=invalid_state')
    // Nor while the victim signs in: the cookie is that of another flow.
    await begin(victim, 'oidc')
    assert.equal(endOf(await victim.open(link)), '/?error=invalid_state')
    assert.equal((await victim.user())?.user_id, before)
    assert.equal(await flowsIn(service), 2, 'nothing was consumed')
    assert.equal(endOf(await attacker.open(link)), '/', 'which works where it began')
  })

  test("a wrong, missing or repeated state, or another provider's, is refused", async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const crafted: ((url: URL) => void)[] = [
      ({ searchParams }) => {
        searchParams.set('state', 'A'.repeat(43))
      },
      ({ searchParams }) => {
        searchParams.delete('state')
      },
      ({ searchParams }) => {
        searchParams.append('state', searchParams.get('state') ?? '')
      },
      (url) => (url.pathname = '/v4/auth/callback/github'),
    ]
    for (const change of crafted) {
      const browser = newBrowser(service)
      const callback = new URL(await oidc.approve(await begin(browser, 'oidc')))
      change(callback)
      assert.equal(endOf(await browser.open(callback.href)), '/?error=invalid_state')
      assert.equal(browser.cookies.size, 0)
    }
    assert.deepEqual(await recorded(service), [])
  })

  test('a foreign or repeated cookie is refused', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const browser = newBrowser(service)
    const { pathname, search } = new URL(await oidc.approve(await begin(browser, 'oidc')))
    const own = `svc_login=${browser.cookies.get('svc_login')}`
    const other = `svc_login=${mintToken('prelogin').reveal()}`
    for (const cookie of ['svc_login=', 'svc_login=x', other, `${own}; ${other}`, `${other}; ${own}`]) {
      const reply = await service.call('GET', pathname + search, { headers: { cookie } })
      assert.equal(endOf(reply), '/?error=invalid_state', cookie)
    }
    assert.equal(endOf(await service.call('GET', pathname + search, { headers: { cookie: own } })), '/')
  })

  test('a flow expires after ten minutes and is deleted by the sweep', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const [inTime, tooLate] = [newBrowser(service), newBrowser(service)]
    const first = await oidc.approve(await begin(inTime, 'oidc'))
    const second = await oidc.approve(await begin(tooLate, 'oidc'))
    service.clock.advance(599.999)
    await service.app.sweep()
    assert.equal(endOf(await inTime.open(first)), '/')
    service.clock.advance(0.001)
    assert.equal(endOf(await tooLate.open(second)), '/?error=invalid_state')
    assert.equal(await flowsIn(service), 1)
    service.clock.advance(0.001)
    await service.app.sweep()
    assert.equal(await flowsIn(service), 0)
  })

  test('a second sign-in in one browser replaces the first', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const browser = newBrowser(service)
    await signInWith(world, browser, 'oidc', 'ada')
    const first = (await browser.user())?.user_id
    await signInWith(world, browser, 'oidc', 'grace')
    const second = (await browser.user())?.user_id
    assert.ok(first !== undefined && second !== undefined && first !== second)
  })

  test('starts are limited per address', async (t) => {
    const service = await serviceIn(world, t, engine)
    const start = (from: string) => service.call('GET', '/v4/auth/login/github', { from })
    for (let count = 0; count < 60; count++) assert.equal((await start('192.0.2.1')).status, 302)
    const { status, body, headers } = await start('192.0.2.1')
    assert.deepEqual([status, body.error.code, headers['retry-after']], [429, 'rate_limited', '1'])
    assert.equal((await start('192.0.2.2')).status, 302)
    for (let count = 0; count < 60; count++) await start(`2001:db8:0:1::${count}`)
    assert.equal((await start('2001:db8:0:1::ffff')).status, 429)
    assert.equal((await start('2001:db8:0:2::1')).status, 302)
  })

  test('starts are limited per /48 too', async (t) => {
    const service = await serviceIn(world, t, engine)
    const start = (from: string) => service.call('GET', '/v4/auth/login/github', { from })
    for (let count = 0; count < 600; count++) {
      assert.equal((await start(`2001:db8:0:${(count % 20).toString(16)}::1`)).status, 302)
    }
    assert.equal((await start('2001:db8:0:ffff::1')).status, 429)
    assert.equal((await start('2001:db8:1::1')).status, 302)
  })
})
