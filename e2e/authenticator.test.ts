/** A browser as a paired device: its key can not leave it, and what it decides is signed. */
import assert from 'node:assert/strict'
import { verifyReceipt } from '@sallyport/sdk'
import type { CallReceipt, Receipt } from '@sallyport/sdk'
import type { Page } from 'playwright-core'
import { assertAccessible } from './accessible.ts'
import { adjust, asking, pushServer } from './asking.ts'
import { arrive, assertFits, oauth, register } from './console-people.ts'
import type { Person } from './console-people.ts'
import { base, hears, inBrowser, inWholeBrowser, press, sees } from './in-browser.ts'
import type { Visit } from './in-browser.ts'
import { eventually } from './running-service.ts'

inWholeBrowser()

const waiting = 'Waiting for you'
const wantsToCall = 'An agent wants to make a call'

/** A second browser, which becomes a device of this person. */
async function pair(visit: Visit, person: Person): Promise<Page> {
  const { body } = await person.call('POST', '/v4/devices/pairing-codes')
  const page = await visit(body.pairing_url)
  await sees(page, 'Pair this device')
  await press(page, 'Pair')
  await sees(page, waiting)
  return page
}

async function devicesOf(person: Person): Promise<{ device_id: string; push: boolean; key: { enrolled: boolean } }[]> {
  return (await person.call('GET', '/v4/devices?status=active')).body.devices
}

inBrowser("a phone is paired with the console's code, and its key is not extractable", [], async (visit) => {
  const person = await arrive(visit, 'ada')
  const desk = await person.open('/devices', 'Devices')
  await press(desk, 'Pair a device')
  await desk.getByText('A phone can’t pair at this address.').waitFor()
  await assertAccessible(desk)
  await assertFits(desk)
  const link = (await desk.getByRole('link', { name: 'pair this browser' }).getAttribute('href')) ?? ''

  const phone = await visit(link)
  await sees(phone, 'Pair this device')
  assert.equal(phone.url(), `${base}/authenticator`)
  assert.notEqual(await phone.getByLabel('Pairing code').inputValue(), '')
  await phone.getByText('this browser becomes a device of the user who created the code').waitFor()
  await assertAccessible(phone)
  await phone.getByLabel('Device name').fill('Ada’s <b>phone</b>')
  await press(phone, 'Pair')
  await sees(phone, waiting)
  await assertAccessible(phone)
  await assertFits(phone)

  await phone.getByRole('region', { name: 'Notifications' }).getByText('Otherwise you see requests only').waitFor()
  await press(phone, 'Not now')
  await phone.getByRole('region', { name: 'Notifications' }).waitFor({ state: 'detached' })
  await hears(desk, 'The device is paired.')
  await desk.getByText('Ada’s <b>phone</b>').first().waitFor()
  assert.deepEqual(await phone.evaluate(whatIsKept), { isExtractable: false, exported: 'InvalidAccessError' })
  await phone.reload()
  await sees(phone, waiting)
  await phone.getByRole('button', { name: 'Turn on notifications' }).waitFor()
  assert.equal(await phone.getByRole('region', { name: 'Notifications' }).count(), 0)
})

inBrowser('a browser that cannot create keys is told why', [], async (visit) => {
  const phone = await visit('about:blank')
  // As at an http address of another machine.
  await phone.addInitScript(`
    Object.defineProperty(globalThis, 'isSecureContext', { value: false })
    delete Navigator.prototype.serviceWorker
  `)
  await phone.goto(`${base}/authenticator`)
  await sees(phone, 'This page needs https')
})

/** What a script in the page can access. */
const whatIsKept = `new Promise((resolve) => {
  indexedDB.open('sallyport-authenticator').onsuccess = ({ target }) => {
    const get = target.result.transaction('device').objectStore('device').get('this')
    get.onsuccess = async () => {
      const { privateKey } = get.result.key
      const exported = await crypto.subtle.exportKey('jwk', privateKey).then(() => 'exported', ({ name }) => name)
      resolve({ isExtractable: privateKey.extractable, exported })
    }
  }
})`

inBrowser('a wrong code is reported beside its field, and another can be entered', ['404 '], async (visit) => {
  const person = await arrive(visit, 'emmy')
  const page = await visit(`${base}/authenticator`)
  await press(page, 'Pair')
  await page.getByRole('alert').filter({ hasText: 'Enter the code' }).waitFor()
  await page.getByLabel('Pairing code').fill('0000-0000')
  await press(page, 'Pair')
  await page.getByRole('alert').filter({ hasText: 'This code doesn’t work' }).waitFor()
  await assertAccessible(page)
  const { body } = await person.call('POST', '/v4/devices/pairing-codes')
  await page.getByLabel('Pairing code').fill(body.pairing_code.toLowerCase())
  await press(page, 'Pair')
  await sees(page, waiting)
})

inBrowser('a request appears on the device, and its signature can be verified by anyone', [], async (visit) => {
  const person = await arrive(visit, 'grace')
  const connectionId = await person.connect('grace')
  const phone = await pair(visit, person)
  const agent = await register('Mail helper')
  const id = await agent.ask({ user_id: person.userId, hosts: [oauth.host], methods: ['GET', 'POST'] })
  await phone.getByRole('link', { name: /^Mail helper is requesting access to your account at Beta/ }).click()
  await sees(phone, asking)
  await phone.setViewportSize({ width: 390, height: 844 })
  await eventually(() => phone.evaluate<boolean>('document.documentElement.scrollHeight === 844'), 'it scrolls')
  await adjust(phone)
  await phone.getByRole('radio', { name: 'Read only' }).check()
  await phone.getByRole('radio', { name: '1 hour' }).check()
  await phone
    .locator('pre')
    .filter({ hasText: `"connection_id":"${connectionId}"` })
    .waitFor()
  await phone.locator('button[aria-disabled=false]').filter({ hasText: 'Sign and approve' }).waitFor()
  await assertAccessible(phone)
  await assertFits(phone)
  await press(phone, 'Sign and approve')
  await sees(phone, 'Access granted')
  const text = `svc-approval.v1.chl_`
  await phone.getByText(text).waitFor()
  assert.match((await phone.locator('main').textContent()) ?? '', new RegExp(`\\.${id}\\.approve`))
  await assertAccessible(phone)

  const [grant] = (await person.call('GET', '/v4/grants')).body.grants
  assert.deepEqual([grant.signed, grant.mode, grant.max_access], [true, 'ask_writes', 'read'])
  const receipt = (await person.call('GET', `/v4/grants/${grant.grant_id}/receipt`)).body as Receipt
  assert.equal((await verifyReceipt(receipt)).verdict, 'signed')
  assert.equal(receipt.scope_signed, true)
  assert.equal((await agent.read(grant.grant_id)).upstream, 200)
  await phone.getByRole('link', { name: 'Other requests' }).click()
  await phone.getByText('No pending requests').waitFor()
})

inBrowser('a denial is signed too; a request decided elsewhere says so', ['404 '], async (visit) => {
  const person = await arrive(visit, 'joan')
  const phone = await pair(visit, person)
  const agent = await register('Pushy agent')
  const id = await agent.ask({ user_id: person.userId })
  await phone.goto(`${base}/authenticator#request=${id}`)
  await sees(phone, asking)
  await phone.getByText('You have no usable account with this provider.').waitFor()
  await press(phone, 'Sign and deny')
  await sees(phone, 'Denied')
  await phone.getByText(`.${id}.deny`).waitFor()
  await phone.reload()
  await sees(phone, 'Already denied')
  await phone.goto(`${base}/authenticator#request=arq_${'0'.repeat(26)}`)
  await sees(phone, 'Request not found')
})

inBrowser('a device removed in the console is signed out immediately', ['401 '], async (visit) => {
  const person = await arrive(visit, 'linus')
  const phone = await pair(visit, person)
  const desk = await person.open('/devices', 'Devices')
  await desk.getByRole('button', { name: /^Remove / }).click()
  await desk.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await hears(desk, 'The device was removed.')
  await phone.getByText('This device is no longer paired.').waitFor()
  await press(phone, 'Pair it again')
  await sees(phone, 'Pair this device')
})

inBrowser(
  'with device-only approval only a device decides, and only it can turn that off',
  ['403 ', '401 '],
  async (visit) => {
    const person = await arrive(visit, 'lise')
    await person.connect('lise')
    const phone = await pair(visit, person)
    const desk = await person.open('/devices', 'Devices')
    await press(desk, 'Turn on')
    await desk.getByRole('dialog').getByText('Pair a second one first.').waitFor()
    await desk.getByRole('dialog').getByRole('button', { name: 'Turn on' }).click()
    await hears(desk, 'From now on, only your devices can approve.')
    await desk.getByText('To remove it, open the authenticator on another device that can approve.').waitFor()
    await assertAccessible(desk)

    const other = await pair(visit, person)
    await other.getByText('not yet').waitFor()
    // It can't sign its removal, so it is not offered.
    await other.getByText('To remove this device, use one that can approve.').waitFor()
    assert.equal(await other.getByRole('button', { name: /^Remove/ }).count(), 0)
    await phone.reload()
    const key = (await other.locator('dd code').first().textContent()) ?? ''
    await phone.getByText('wants to approve requests too').waitFor()
    await phone.getByText(key).waitFor()
    await press(phone, 'Keys match: allow it to approve')
    await hears(phone, 'The other device can approve now.')
    await eventually(async () => (await devicesOf(person)).every((one) => one.key.enrolled), 'not enrolled')

    await phone.getByRole('button', { name: /^Remove Chrome on/ }).click()
    await phone.getByRole('dialog').getByRole('button', { name: 'Sign and remove' }).click()
    await hears(phone, 'The device was removed.')
    await other.getByText('This device is no longer paired.').waitFor()
    await press(phone, 'Remove this device')
    await phone.getByRole('dialog').getByText('If no other device can approve, nothing can').waitFor()
    await phone.keyboard.press('Escape')

    await press(phone, 'Turn off')
    await phone.getByRole('dialog').getByRole('button', { name: 'Sign and turn off' }).click()
    await hears(phone, 'You can approve in the console again.')
    assert.equal((await person.call('GET', '/v4/auth/me')).body.user.require_device_approval, false)
  },
)

inBrowser('a request shows a notification, and tapping it opens the request', [], async (visit) => {
  const person = await arrive(visit, 'hedy')
  const phone = await pair(visit, person)
  await phone.context().grantPermissions(['notifications'], { origin: base })
  const subscription = pushServer.subscribe()
  // The browser's push service is not reachable from here; the tests' one replaces it.
  await phone.evaluate(`PushManager.prototype.subscribe = async () => ({ toJSON: () => (${subscription.token}) })`)
  await press(phone, 'Turn on notifications')
  await hears(phone, 'Notifications are on.')
  assert.equal((await devicesOf(person))[0]?.push, true)

  const agent = await register('Mail helper')
  const id = await agent.ask({ user_id: person.userId })
  await eventually(() => Promise.resolve(subscription.received.length > 0), 'nothing was pushed')
  const shown = `navigator.serviceWorker.ready
    .then((worker) => worker.getNotifications())
    .then((all) => all.map(({ title, body, tag }) => ({ title, body, tag })))`
  const notifications = () => phone.evaluate<{ title: string; body: string; tag: string }[]>(shown)
  let looks = 0
  await eventually(async () => {
    // The browser does not report whether the worker got it; on a busy machine one may be lost. Two show as one.
    if (looks++ % 100 === 0) await deliver(phone, subscription.received[0] ?? '')
    return (await notifications()).length > 0
  }, 'no notification')
  const [notification, ...more] = await notifications()
  assert.equal(notification?.tag, id)
  assert.deepEqual(more, [])
  assert.match(`${notification.title} ${notification.body}`, /Mail helper/)

  await touch(phone)
  await sees(phone, asking)
  assert.deepEqual(await notifications(), [])
})

inBrowser('a held call: from its notification to its result, signed', ['409 '], async (visit) => {
  const person = await arrive(visit, 'barbara')
  const account = await person.connect('barbara')
  const phone = await pair(visit, person)
  await phone.setViewportSize({ width: 390, height: 844 })
  await phone.context().grantPermissions(['notifications'], { origin: base })
  const subscription = pushServer.subscribe()
  await phone.evaluate(`PushManager.prototype.subscribe = async () => ({ toJSON: () => (${subscription.token}) })`)
  await press(phone, 'Turn on notifications')
  await hears(phone, 'Notifications are on.')
  const agent = await register('Mail helper')
  const terms = { connection_id: account, mode: 'ask_writes' }
  const grant = await person.approve(await agent.ask({ hosts: [oauth.host] }), terms)
  const body = { to: 'grace@example.com' }
  const held = await agent.hold(grant, { body, reason: 'Barbara asked me to' })
  await eventually(() => Promise.resolve(subscription.received.length > 0), 'nothing was pushed')
  const [pushed = ''] = subscription.received
  assert.doesNotMatch(pushed, /grace|asked me to/)
  const tag = () =>
    phone.evaluate<string | undefined>(
      `navigator.serviceWorker.ready.then((worker) => worker.getNotifications()).then(([first]) => first?.tag)`,
    )
  let looks = 0
  await eventually(async () => {
    if (looks++ % 100 === 0) await deliver(phone, pushed)
    return (await tag()) === 'calls'
  }, 'no notification')
  await touch(phone)
  await sees(phone, wantsToCall)
  await phone.getByRole('group', { name: 'Body' }).getByText('grace@example.com').waitFor()
  assert.equal(await phone.locator('blockquote').textContent(), 'Barbara asked me to')
  await phone.getByText('What this device will sign').click()
  await phone.getByRole('group', { name: 'What this device will sign' }).getByText('"body_length":26').waitFor()
  await phone.locator('button[aria-disabled=false]').filter({ hasText: 'Sign and approve' }).waitFor()
  await assertAccessible(phone)
  await assertFits(phone)
  await press(phone, 'Sign and approve')
  await sees(phone, 'Done')
  await phone.getByText('The provider answered 200.').waitFor()
  await phone.getByText('svc-call.v1.chl_').waitFor()
  await assertAccessible(phone)
  const receipt = (await person.call('GET', `/v4/calls/${held.call_id}/receipt`)).body as CallReceipt
  assert.deepEqual([receipt.signed, receipt.verdict], [true, 'approve'])
  await phone.getByText(receipt.signing_input ?? '').waitFor()

  // Several at once: each with a signature of its own.
  const several = await Promise.all([1, 2, 3].map((number) => agent.hold(grant, { body: { number } })))
  await phone.getByRole('link', { name: 'Other requests' }).click()
  await sees(phone, waiting)
  await press(phone, 'Select all 3')
  await assertAccessible(phone)
  await assertFits(phone)
  await press(phone, 'Sign and deny 3')
  await hears(phone, '3 calls denied.')
  for (const { call_id: id } of several) {
    assert.equal(await agent.statusOf(id), 'denied')
    assert.equal((await person.call('GET', `/v4/calls/${id}/receipt`)).body.signed, true)
  }

  // A service that shows another call than the one to sign.
  const last = await agent.hold(grant, { body: 'last' })
  await phone.route('**/v4/calls/cal_*', async (route) => {
    const answer = await route.fetch()
    const call = (await answer.json()) as { description: object }
    await route.fulfill({ json: { ...call, description: { ...call.description, method: 'GET' } } })
  })
  await phone.goto(`${base}/authenticator#request=${last.call_id}`)
  await sees(phone, 'This call can’t be signed')
  assert.equal(await phone.getByRole('button', { name: /^Sign/ }).count(), 0)
})

/** Delivers a push message to the page's service worker. */
async function deliver(page: Page, data: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const registered = new Promise<string>((resolve) => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const [found] = registrations.filter(({ scopeURL }) => scopeURL.startsWith(base))
      if (found) resolve(found.registrationId)
    })
  })
  await session.send('ServiceWorker.enable')
  await session.send('ServiceWorker.deliverPushMessage', { origin: base, registrationId: await registered, data })
}

/** Clicks the notification. As the event is synthetic, `waitUntil` has no effect in the worker. */
async function touch(page: Page): Promise<void> {
  const [worker] = page.context().serviceWorkers()
  await worker?.evaluate(`registration.getNotifications().then(([notification]) => {
    dispatchEvent(new NotificationEvent('notificationclick', { notification }))
  })`)
}

const disconnected = 'Failed to load resource: net::ERR_INTERNET_DISCONNECTED'

inBrowser('it opens offline and says that nothing can be decided', [disconnected], async (visit) => {
  const person = await arrive(visit, 'vera')
  const phone = await pair(visit, person)
  await phone.evaluate('navigator.serviceWorker.ready')
  await phone.reload()
  await sees(phone, waiting)
  await phone.context().setOffline(true)
  await phone.reload()
  await sees(phone, waiting)
  await phone.getByText('You’re offline, or the service can’t be reached.').waitFor()
  await assertAccessible(phone)
  await phone.context().setOffline(false)
  await phone.getByText('No pending requests').waitFor()
})
