/** A login passes codes, verifiers, tokens and client secrets around. Afterwards none of them is to be found. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { base, begin, newBrowser, serviceIn, startLoginWorld } from '../../testkit/login.ts'
import type { Browser } from '../../testkit/login.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { stored } from '../../testkit/stored.ts'

const world = await startLoginWorld()
const { oidc, github } = world

onBothDatabases('what a login leaves behind', (engine) => {
  test('no code, verifier, token or secret is in the database, the log, a response or a redirect', async (t) => {
    const service = await serviceIn(world, t, engine, { SALLYPORT_SIGNUP: 'open', SALLYPORT_LOG_LEVEL: 'debug' })
    const issued = new Set<string>()
    const answers: string[] = []
    let atRest = ''
    const walk = async (browser: Browser, id: 'oidc' | 'github', change: (callback: URL) => void = () => undefined) => {
      const url = await begin(browser, id)
      issued.add(new URL(url).searchParams.get('state') ?? '')
      issued.add(browser.cookies.get('svc_login') ?? '')
      const callback = new URL(await world[id].approve(url, { account: 'ada' }))
      atRest += (await stored(service)).toString('latin1')
      change(callback)
      const { headers, text } = await browser.open(callback.href)
      const { 'set-cookie': cookies, ...others } = headers
      issued.add(browser.cookies.get('svc_session') ?? '')
      answers.push(
        JSON.stringify(others),
        text,
        [cookies ?? []]
          .flat()
          .join()
          .replace(/svc_session=[^;]+/, ''),
      )
    }
    await walk(newBrowser(service), 'oidc')
    await walk(newBrowser(service), 'github')
    await walk(newBrowser(service), 'oidc', ({ searchParams }) => {
      searchParams.set('iss', base)
    })
    for (const path of [oauthPaths.token, oauthPaths.userinfo]) {
      const lift = oidc.fault.answer(path, {
        status: 400,
        headers: { 'content-type': 'application/json' },
        body: '{"error":"x"}',
      })
      t.after(lift)
      await walk(newBrowser(service), 'oidc')
      lift()
    }
    issued.delete('')
    assert.ok(issued.size >= 12)
    const passed = [...oidc.secrets, ...github.secrets]
    assert.ok(passed.length > 10)
    const left = [atRest, (await stored(service)).toString('latin1'), service.log.join('\n'), ...answers].join('\n')
    assert.ok(left.includes('identity.linked') && left.includes('a browser login failed'))
    for (const secret of [...passed, ...issued]) assert.ok(!left.includes(secret), secret.slice(0, 20))
  })
})
