import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { githubPaths } from '../../testkit/github-site.ts'
import { begin, endOf, invite, newBrowser, serviceIn, signInWith, startLoginWorld } from '../../testkit/login.ts'

const verified = (email: string) => ({ email, primary: true, verified: true })
const world = await startLoginWorld({
  github: {
    accounts: {
      ada: { id: 1815, name: 'Ada Lovelace', email: 'shown@example.com', emails: [verified('ada@example.com')] },
      unverified: { id: 2, emails: [{ email: 'ada@example.com', primary: true, verified: false }] },
      secondary: {
        id: 3,
        emails: [{ email: 'ada@example.com', primary: false, verified: true }, verified('other@example.com')],
      },
      shown: { id: 4, email: 'ada@example.com', emails: [] },
      loud: { id: 5, emails: [verified('ADA@EXAMPLE.COM')] },
    },
  },
})
const { github } = world

onBothDatabases('GitHub', (engine) => {
  test('only the primary, verified address counts', async (t) => {
    const service = await serviceIn(world, t, engine)
    const ada = await invite(service, 'ada@example.com')
    await invite(service, 'shown@example.com')
    for (const login of ['unverified', 'secondary', 'shown']) {
      assert.equal(await signInWith(world, newBrowser(service), 'github', login), '/?error=not_invited', login)
    }
    const browser = newBrowser(service)
    assert.equal(await signInWith(world, browser, 'github', 'loud'), '/')
    assert.equal((await browser.user())?.user_id, ada)
  })

  test('without access to addresses a known user can sign in, an invited one cannot', async (t) => {
    const service = await serviceIn(world, t, engine)
    const ada = await invite(service, 'ada@example.com')
    assert.equal(await signInWith(world, newBrowser(service), 'github', 'ada'), '/')
    for (const status of [403, 404]) {
      const lift = github.fault.answer(githubPaths.emails, { status, body: '{"message":"Not allowed"}' })
      t.after(lift)
      const browser = newBrowser(service)
      assert.equal(await signInWith(world, browser, 'github', 'ada'), '/')
      assert.equal((await browser.user())?.user_id, ada)
      await invite(service, 'other@example.com')
      assert.equal(await signInWith(world, newBrowser(service), 'github', 'secondary'), '/?error=not_invited')
      lift()
    }
  })

  test('a renamed login is the same user, and a new owner of the old name is not', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const [before, renamed, newHolder] = [newBrowser(service), newBrowser(service), newBrowser(service)]
    github.accounts['first-name'] = { id: 77, name: null }
    assert.equal(await signInWith(world, before, 'github', 'first-name'), '/')
    const user = await before.user()
    assert.equal(user?.name, 'first-name')
    github.accounts['second-name'] = github.accounts['first-name']
    github.accounts['first-name'] = { id: 78 }
    assert.equal(await signInWith(world, renamed, 'github', 'second-name'), '/')
    assert.equal((await renamed.user())?.user_id, user.user_id)
    assert.equal(await signInWith(world, newHolder, 'github', 'first-name'), '/')
    assert.notEqual((await newHolder.user())?.user_id, user.user_id)
  })

  test('a GitHub response without a numeric id or a list of addresses is refused', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const changes: [string, (body: any) => unknown][] = [
      [githubPaths.user, (body) => ({ ...body, id: '1815' })],
      [githubPaths.user, (body) => ({ ...body, id: 1.5 })],
      [githubPaths.user, (body) => ({ ...body, id: undefined })],
      [githubPaths.emails, () => ({ message: 'Not Found' })],
    ]
    for (const [path, change] of changes) {
      const lift = github.fault.change(path, change)
      t.after(lift)
      assert.equal(await signInWith(world, newBrowser(service), 'github', 'ada'), '/?error=invalid_response')
      lift()
    }
  })

  test('a denial leads back to the page, and an unknown code is refused', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open' })
    const browser = newBrowser(service)
    const refused = await github.deny(await begin(browser, 'github'))
    assert.equal(endOf(await browser.open(refused)), '/?error=access_denied')
    assert.equal(browser.cookies.size, 0)
    const callback = new URL(await github.approve(await begin(browser, 'github')))
    callback.searchParams.set('code', 'stolen')
    assert.equal(endOf(await browser.open(callback.href)), '/?error=provider_error')
  })
})
