/** Providers that are away, broken or hostile, and answers that were tampered with on their way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { githubPaths } from '../../testkit/github-site.ts'
import { begin, endOf, newBrowser, serviceIn, signInWith, startLoginWorld } from '../../testkit/login.ts'
import type { InsteadOfAnswer } from '../../testkit/oauth-faults.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import type { TestService } from '../../testkit/service.ts'

const world = await startLoginWorld()
const { oidc, github } = world
const open = { SALLYPORT_SIGNUP: 'open' }

/** Signs in with what comes back changed by somebody on the way. */
async function tampered(service: TestService, change: (callback: URL) => void): Promise<string> {
  const browser = newBrowser(service)
  const callback = new URL(await oidc.approve(await begin(browser, 'oidc')))
  change(callback)
  const end = endOf(await browser.open(callback.href))
  assert.equal(browser.cookies.size, 0)
  return end
}

/** The fault is lifted whatever happens: other tests ask the same server. */
async function under<T>(lift: () => void, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    lift()
  }
}

/** Puts other claims into an ID token, whose signature nobody looks at: it came over TLS (OIDC Core §3.1.3.7). */
function withClaims(change: object) {
  return (body: { id_token: string }) => {
    const [header, claims = '', signature] = body.id_token.split('.')
    const changed = { ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object), ...change }
    const encoded = Buffer.from(JSON.stringify(changed)).toString('base64url')
    return { ...body, id_token: [header, encoded, signature].join('.') }
  }
}

onBothDatabases('failing logins', (engine) => {
  test('a denial leads back to the page', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const browser = newBrowser(service)
    const callback = await oidc.deny(await begin(browser, 'oidc'))
    assert.equal(endOf(await browser.open(callback)), '/?error=access_denied')
    assert.equal(browser.cookies.size, 0)
  })

  test('a failed login leads back to the page where it started', async (t) => {
    const service = await serviceIn(world, t, engine)
    const page = '/approve-proxy/arq_01k9x3v7qmf5v8t2w4y6z8abcd?user=ada%40example.com'
    const query = `?redirect_after=${encodeURIComponent(page)}`
    const browser = newBrowser(service)
    const refused = await oidc.deny(await begin(browser, 'oidc', query))
    assert.equal(endOf(await browser.open(refused)), `${page}&error=access_denied`)
    const stranger = await oidc.approve(await begin(browser, 'oidc', query))
    assert.equal(endOf(await browser.open(stranger)), `${page}&error=not_invited`)
    assert.equal(endOf(await browser.open(stranger)), '/?error=invalid_state', 'what is over leads to the first page')
    assert.equal(browser.cookies.size, 0)
  })

  test('a response with another issuer, or without a promised one, is refused', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const other = await tampered(service, ({ searchParams }) => {
      searchParams.set('iss', github.origin)
    })
    const none = await tampered(service, ({ searchParams }) => {
      searchParams.delete('iss')
    })
    const two = await tampered(service, ({ searchParams }) => {
      searchParams.append('iss', github.origin)
    })
    assert.deepEqual([other, none, two], Array<string>(3).fill('/?error=invalid_response'))
    assert.deepEqual(await recorded(service), [])
  })

  test('a callback without a code, or with two, is refused', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const none = await tampered(service, ({ searchParams }) => {
      searchParams.delete('code')
    })
    const two = await tampered(service, ({ searchParams }) => {
      searchParams.append('code', 'another')
    })
    const odd = await tampered(service, (url) => {
      url.search += '&error=%3Cscript%3E&error_description=%0D%0ALocation:%20https://evil.example'
    })
    assert.deepEqual([none, two], Array<string>(2).fill('/?error=invalid_response'))
    assert.equal(odd, '/?error=provider_error')
  })

  test('an ID token with another nonce is refused', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const browser = newBrowser(service)
    const url = new URL(await begin(browser, 'oidc'))
    url.searchParams.set('nonce', 'that-of-another-login')
    assert.equal(endOf(await browser.open(await oidc.approve(url))), '/?error=invalid_response')
    const again = new URL(await begin(browser, 'oidc'))
    again.searchParams.delete('nonce')
    assert.equal(endOf(await browser.open(await oidc.approve(again))), '/?error=invalid_response')
    assert.equal(await browser.user(), undefined)
  })

  test('a missing, foreign or expired ID token, or one without a subject, is refused', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const claims = [{ iss: github.origin }, { aud: 'another-client' }, { exp: 1 }, { sub: undefined }, { sub: '' }]
    const changes: ((body: any) => unknown)[] = [
      ...[...claims, { sub: 'a\u0000b' }, { sub: 'x'.repeat(256) }].map(withClaims),
      ({ id_token, ...rest }) => ({ ...rest, x: typeof id_token }),
    ]
    for (const change of changes) {
      const lift = oidc.fault.change(oauthPaths.token, change)
      const end = await under(lift, () => signInWith(world, newBrowser(service), 'oidc', 'ada'))
      assert.equal(end, '/?error=invalid_response')
    }
    assert.deepEqual(await recorded(service), [])
  })

  test('userinfo with another subject is ignored', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const lift = oidc.fault.change(oauthPaths.userinfo, (body) => ({ ...body, sub: 'grace' }))
    const end = await under(lift, () => signInWith(world, newBrowser(service), 'oidc', 'ada'))
    assert.equal(end, '/?error=invalid_response')
  })

  test('a code issued to another browser is refused', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const [victim, thief] = [newBrowser(service), newBrowser(service)]
    const stolen = new URL(await oidc.approve(await begin(victim, 'oidc'), { account: 'victim' }))
    const own = new URL(await oidc.approve(await begin(thief, 'oidc'), { account: 'thief' }))
    own.searchParams.set('code', stolen.searchParams.get('code') ?? '')
    assert.equal(endOf(await thief.open(own.href)), '/?error=provider_error')
    assert.equal(await thief.user(), undefined)
  })

  test('a provider that is down, fails or responds with a page is unavailable', async (t) => {
    const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Maintenance</h1>' }
    const troubles: InsteadOfAnswer[] = ['cut', { status: 500 }, { status: 503, body: 'busy' }, page]
    for (const instead of troubles) {
      const service = await serviceIn(world, t, engine, open)
      const browser = newBrowser(service)
      const raise = (path: string) => oidc.fault.answer(path, instead)
      const lifts = [oauthPaths.discovery, '/.well-known/oauth-authorization-server'].map(raise)
      const liftAll = () => {
        for (const lift of lifts) lift()
      }
      const started = await under(liftAll, () => browser.open('/v4/auth/login/oidc'))
      assert.equal(endOf(started), '/?error=provider_unavailable')
      assert.equal(browser.cookies.size, 0)
      // A failure is not remembered.
      const callback = await oidc.approve(await begin(browser, 'oidc'))
      const ended = await under(raise(oauthPaths.token), () => browser.open(callback))
      assert.equal(endOf(ended), '/?error=provider_unavailable')
      const identified = await under(raise(oauthPaths.userinfo), () => signInWith(world, browser, 'oidc', 'ada'))
      assert.equal(identified, '/?error=provider_unavailable')
      assert.equal(await signInWith(world, browser, 'oidc', 'ada'), '/')
    }
  })

  test('a failing GitHub API is unavailable', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    for (const path of [githubPaths.user, githubPaths.emails, githubPaths.token]) {
      for (const instead of ['cut', { status: 502, body: 'bad gateway' }] as const) {
        const lift = github.fault.answer(path, instead)
        const end = await under(lift, () => signInWith(world, newBrowser(service), 'github', 'ada'))
        assert.equal(end, '/?error=provider_unavailable', path)
      }
    }
  })

  test('metadata with another issuer or without endpoints is refused', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const changes = [{ issuer: github.origin }, { authorization_endpoint: undefined }, { token_endpoint: 'http://a/' }]
    for (const change of changes) {
      const lift = oidc.fault.change(oauthPaths.discovery, (body) => ({ ...body, ...change }))
      const started = await under(lift, () => newBrowser(service).open('/v4/auth/login/oidc'))
      assert.equal(endOf(started), '/?error=invalid_response')
    }
  })

  test('metadata is fetched on first use, once for all, and again after an hour', async (t) => {
    const asked = () => oidc.calls.filter(({ path }) => path === oauthPaths.discovery).length
    const before = asked()
    const service = await serviceIn(world, t, engine, open)
    assert.equal(asked() - before, 0)
    await Promise.all([1, 2, 3].map(() => begin(newBrowser(service), 'oidc')))
    service.clock.advance(3599.999)
    await signInWith(world, newBrowser(service), 'oidc', 'ada')
    assert.equal(asked() - before, 1)
    service.clock.advance(0.001)
    await begin(newBrowser(service), 'oidc')
    assert.equal(asked() - before, 2)
  })

  test('a slow provider response does not block other sign-ins', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const waiting = newBrowser(service)
    const callback = await oidc.approve(await begin(waiting, 'oidc'))
    const held = oidc.fault.hold(oauthPaths.token)
    t.after(held.release)
    const end = waiting.open(callback)
    await held.arrived
    assert.equal(await signInWith(world, newBrowser(service), 'github', 'ada'), '/')
    held.release()
    assert.equal(endOf(await end), '/')
  })

  test("a user who is disabled during the provider's response cannot sign in", async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const browser = newBrowser(service)
    await signInWith(world, browser, 'oidc', 'ada')
    const userId = (await browser.user())?.user_id ?? ''
    const callback = await oidc.approve(await begin(browser, 'oidc'))
    const held = oidc.fault.hold(oauthPaths.token)
    t.after(held.release)
    const end = browser.open(callback)
    await held.arrived
    await service.call('POST', `/v4/users/${userId}/disable`, { token: service.adminToken })
    held.release()
    assert.equal(endOf(await end), '/?error=user_disabled')
  })
})

test('a provider that never responds times out, and a disallowed address is not called', async (t) => {
  const service = await serviceIn(world, t, 'sqlite', open)
  const browser = newBrowser(service)
  const callback = await oidc.approve(await begin(browser, 'oidc'))
  const lifts = [oidc.fault.answer(oauthPaths.token, 'hang'), oidc.fault.answer(oauthPaths.discovery, 'hang')]
  const fresh = await serviceIn(world, t, 'sqlite', open)
  const ends = await Promise.all([browser.open(callback), newBrowser(fresh).open('/v4/auth/login/oidc')])
  assert.deepEqual(ends.map(endOf), Array<string>(2).fill('/?error=provider_unavailable'))
  for (const lift of lifts) lift()

  const closed = await serviceIn(world, t, 'sqlite', {
    ...open,
    SALLYPORT_EGRESS_ALLOW: 'localhost:1',
  })
  const before = oidc.calls.length
  assert.equal(endOf(await newBrowser(closed).open('/v4/auth/login/oidc')), '/?error=provider_unavailable')
  assert.equal(oidc.calls.length, before)
})
