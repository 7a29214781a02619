/** Who becomes whom: each way to get into somebody else's account by an e-mail address is a test here. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { begin, endOf, invite, newBrowser, serviceIn, signInWith, startLoginWorld } from '../../testkit/login.ts'
import type { Browser } from '../../testkit/login.ts'
import { startOAuthServer } from '../../testkit/oauth-server.ts'
import type { TestService } from '../../testkit/service.ts'

const world = await startLoginWorld({
  oidc: {
    accounts: {
      ada: { email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' },
      mallory: { email: 'ada@example.com', email_verified: false, name: 'Ada Lovelace' },
      silent: { email: 'ada@example.com' },
      double: { email: 'ada@example.com', email_verified: true },
      loud: { email: 'ADA@Example.COM', email_verified: true },
      kelvin: { email: 'mi\u212Ae@example.com', email_verified: true },
      odd: { email: 'no address', email_verified: true, name: '\u202e\u0000' },
      bidi: { name: ' Gr\u202eace\n ' },
    },
  },
  github: {
    accounts: {
      ada: { id: 1815, emails: [{ email: 'ada@example.com', primary: true, verified: true }] },
    },
  },
})
const { oidc, github } = world
const open = { SALLYPORT_SIGNUP: 'open' }

async function signedIn(service: TestService, account: string): Promise<[string, string | undefined]> {
  const browser = newBrowser(service)
  return [await signInWith(world, browser, 'oidc', account), (await browser.user())?.user_id]
}

async function usersOf({ call, adminToken }: TestService): Promise<{ user_id: string; email: string | null }[]> {
  return (await call('GET', '/v4/users', { token: adminToken })).body.users
}

onBothDatabases('identities', (engine) => {
  test('only invited people can sign in', async (t) => {
    const service = await serviceIn(world, t, engine)
    await invite(service, 'grace@example.com')
    // One user without an address, and one whose handle only looks like it.
    await service.call('POST', '/v4/auth/login-tokens', {
      token: service.adminToken,
      body: { name: 'ada@example.com' },
    })
    assert.deepEqual(await signedIn(service, 'ada'), ['/?error=not_invited', undefined])
    assert.deepEqual(await recorded(service, 'session.started'), [])
    assert.deepEqual(await recorded(service, 'identity.linked'), [])
    assert.equal((await usersOf(service)).length, 2)
  })

  test('an unverified e-mail address matches no user', async (t) => {
    const service = await serviceIn(world, t, engine)
    const ada = await invite(service, 'ada@example.com')
    for (const account of ['mallory', 'silent']) {
      assert.deepEqual(await signedIn(service, account), ['/?error=not_invited', undefined])
    }
    for (const claim of ['true', 1, null, [true], {}]) {
      const lift = oidc.fault.change('/me', (body) => ({ ...body, email_verified: claim }))
      t.after(lift)
      assert.deepEqual(await signedIn(service, 'mallory'), ['/?error=not_invited', undefined], JSON.stringify(claim))
      lift()
    }
    assert.deepEqual(await signedIn(service, 'ada'), ['/', ada], 'hers is still free for her')
  })

  test('with open sign-up an unverified address matches no user either, and is not stored', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const ada = await invite(service, 'ada@example.com')
    const [end, mallory] = await signedIn(service, 'mallory')
    assert.equal(end, '/')
    assert.notEqual(mallory, ada)
    const user = (await usersOf(service)).find(({ user_id }) => user_id === mallory)
    assert.equal(user?.email, null)
  })

  test('a verified address does not match a user who already has an identity', async (t) => {
    const service = await serviceIn(world, t, engine)
    const ada = await invite(service, 'ada@example.com')
    assert.deepEqual(await signedIn(service, 'ada'), ['/', ada])
    assert.deepEqual(await signedIn(service, 'double'), ['/?error=not_invited', undefined])
    assert.equal(await signInWith(world, newBrowser(service), 'github', 'ada'), '/?error=not_invited')
    assert.deepEqual(await signedIn(service, 'ada'), ['/', ada])
  })

  test('no other identity is linked to a user who signed up, even with the same address', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const [, first] = await signedIn(service, 'ada')
    const [end, second] = await signedIn(service, 'double')
    assert.equal(end, '/')
    assert.notEqual(second, first)
    const addresses = (await usersOf(service)).map(({ user_id, email }) => [user_id, email])
    assert.deepEqual(
      new Map(addresses as [string, string][]),
      new Map([
        [first, 'ada@example.com'],
        [second, null],
      ] as never),
    )
  })

  test('addresses are case-insensitive, but look-alike letters differ', async (t) => {
    const service = await serviceIn(world, t, engine)
    const ada = await invite(service, 'Ada@Example.com')
    await invite(service, 'mike@example.com')
    assert.deepEqual(await signedIn(service, 'loud'), ['/', ada])
    assert.deepEqual(await signedIn(service, 'kelvin'), ['/?error=not_invited', undefined])
  })

  test('the same subject at two issuers is two users', async (t) => {
    const other = await startOAuthServer(t, {
      redirectUris: ['https://sallyport.example/v4/auth/callback/oidc'],
      accounts: { ada: { name: 'Another Ada' } },
    })
    const service = await serviceIn(world, t, engine, open)
    const [, first] = await signedIn(service, 'ada')
    const databaseOf = engine === 'postgres' ? { DATABASE_URL: service.config.databaseUrl.read()?.reveal() } : {}
    const elsewhere = await serviceIn(world, t, engine, {
      ...open,
      ...databaseOf,
      SALLYPORT_DATA_DIR: service.config.dataDir,
      SALLYPORT_MASTER_KEY: service.config.masterKey.read()?.reveal(),
      SALLYPORT_EGRESS_ALLOW: other.host,
      SALLYPORT_OIDC_ISSUER: other.issuer,
      SALLYPORT_OIDC_CLIENT_ID: other.client.clientId,
      SALLYPORT_OIDC_CLIENT_SECRET: other.client.clientSecret,
    })
    const browser = newBrowser(elsewhere)
    const callback = await other.approve(await begin(browser, 'oidc'), { account: 'ada' })
    assert.equal(endOf(await browser.open(callback)), '/')
    const second = await browser.user()
    assert.equal(second?.name, 'Another Ada')
    assert.notEqual(second.user_id, first)
    assert.equal((await usersOf(elsewhere)).length, 2, 'on one database')
  })

  test('the same subject at GitHub and OpenID Connect is two users', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const [, first] = await signedIn(service, '1815')
    const browser = newBrowser(service)
    assert.equal(await signInWith(world, browser, 'github', 'ada'), '/')
    assert.notEqual((await browser.user())?.user_id, first)
  })

  test('a disabled user cannot sign in by identity or address', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const ada = await invite(service, 'ada@example.com')
    const disable = (userId: string) =>
      service.call('POST', `/v4/users/${userId}/disable`, { token: service.adminToken })
    await disable(ada)
    assert.deepEqual(await signedIn(service, 'ada'), ['/?error=user_disabled', undefined])
    assert.deepEqual(await recorded(service, 'identity.linked'), [])

    const [, grace = ''] = await signedIn(service, 'grace')
    await disable(grace)
    assert.deepEqual(await signedIn(service, 'grace'), ['/?error=user_disabled', undefined])
    assert.equal((await usersOf(service)).length, 2)
  })

  test("with open sign-up a new user gets the provider's name and verified address", async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const browser = newBrowser(service)
    assert.equal(await signInWith(world, browser, 'oidc', 'ada'), '/')
    const user = await browser.user()
    assert.deepEqual([user?.name, user?.email], ['Ada Lovelace', 'ada@example.com'])
    const [created, linked, started] = await recorded(service)
    assert.deepEqual(
      [created?.event, created?.detail, created?.user_id],
      ['user.created', { via: 'oidc' }, user?.user_id],
    )
    assert.deepEqual([linked?.event, started?.event], ['identity.linked', 'session.started'])

    const bidi = newBrowser(service)
    await signInWith(world, bidi, 'oidc', 'bidi')
    assert.equal((await bidi.user())?.name, 'Grace')
    const odd = newBrowser(service)
    await signInWith(world, odd, 'oidc', 'odd')
    assert.deepEqual([(await odd.user())?.name, (await odd.user())?.email], [null, null])
  })

  test('concurrent first sign-ins create one user', async (t) => {
    const service = await serviceIn(world, t, engine, open)
    const browsers = Array.from({ length: 6 }, () => newBrowser(service))
    const callbacks = await Promise.all(
      browsers.map(async (browser) => oidc.approve(await begin(browser, 'oidc'), { account: 'ada' })),
    )
    const ends = await Promise.all(browsers.map((browser, index) => browser.open(callbacks[index] ?? '')))
    assert.deepEqual(new Set(ends.map(endOf)), new Set(['/']))
    const users = await Promise.all(browsers.map(async (browser) => (await browser.user())?.user_id))
    assert.equal(new Set(users).size, 1)
    assert.equal((await usersOf(service)).length, 1)
    assert.equal((await recorded(service, 'user.created')).length, 1)
  })

  test('of concurrent sign-ins with one invitation one identity gets it', async (t) => {
    const service = await serviceIn(world, t, engine)
    const ada = await invite(service, 'ada@example.com')
    const ways: [Browser, string][] = []
    for (let count = 0; count < 3; count++) {
      const [byOidc, byDouble, byGitHub] = [newBrowser(service), newBrowser(service), newBrowser(service)]
      ways.push([byOidc, await oidc.approve(await begin(byOidc, 'oidc'), { account: 'ada' })])
      ways.push([byDouble, await oidc.approve(await begin(byDouble, 'oidc'), { account: 'double' })])
      ways.push([byGitHub, await github.approve(await begin(byGitHub, 'github'), { account: 'ada' })])
    }
    const ends = await Promise.all(ways.map(async ([browser, callback]) => endOf(await browser.open(callback))))
    assert.equal(ends.filter((end) => end === '/').length, 3, 'one identity, with each of its three browsers')
    assert.equal(ends.filter((end) => end === '/?error=not_invited').length, 6)
    const linked = await recorded(service, 'identity.linked')
    assert.deepEqual(
      linked.map(({ user_id }) => user_id),
      [ada],
    )
  })
})
