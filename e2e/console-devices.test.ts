/** Devices in the console, and muted and blocked agents. */
import assert from 'node:assert/strict'
import { createDeviceClient, generateDeviceKey, pairDevice } from '@sallyport/sdk'
import { assertAccessible } from './accessible.ts'
import { arrive, assertFits, register } from './console-people.ts'
import { base, hears, inBrowser, press, shows } from './in-browser.ts'

inBrowser('a denied agent is muted, can be blocked, and unblocked again', [], async (visit) => {
  const person = await arrive(visit, 'ada')
  const odd = `<b>Pushy</b> \u05d0\u05d1 ${'m'.repeat(70)}`
  const agent = await register(odd)
  const ask = () => agent.ask({ user_id: person.userId })
  const page = await person.open('/devices', 'Devices')
  const silent = page.getByRole('region', { name: 'Muted agents' })
  await silent.getByText('None.').waitFor()
  assert.equal((await person.call('POST', `/v4/access-requests/${await ask()}/deny`, {})).status, 200)
  await silent.getByText(/^Muted until /).waitFor()
  await assertAccessible(page)
  await assertFits(page)

  await page.getByRole('button', { name: `Block ${odd}` }).press('Enter')
  await hears(page, 'The agent is blocked.')
  await silent.getByText('Muted permanently: its requests are neither notified nor listed').waitFor()
  await page.locator('h1:focus').waitFor()
  await ask()
  const waiting = async () => (await person.call('GET', '/v4/access-requests/pending')).body.access_requests.length
  assert.equal(await waiting(), 0)
  await press(page, `Unmute ${odd}`)
  await hears(page, 'The agent is unmuted.')
  await silent.getByText('None.').waitFor()
  assert.equal(await waiting(), 1)
  assert.equal(await page.locator('main b').count(), 0)
})

inBrowser('a device appears when it is paired, and is signed out when removed', [], async (visit) => {
  const person = await arrive(visit, 'grace')
  const page = await person.open('/devices', 'Devices')
  await page.getByText('No devices yet').waitFor()
  await press(page, 'Pair a device')
  await page.getByRole('img', { name: /QR code/ }).waitFor()
  await assertAccessible(page)
  await assertFits(page)
  const code = await page.getByRole('region', { name: 'Pair a device' }).locator('.select-all').innerText()
  const key = await generateDeviceKey()
  const name = `<i>Phone</i> ${'w'.repeat(40)}`
  const paired = await pairDevice({ baseUrl: base, pairingCode: code, key, deviceName: name })
  await hears(page, 'The device is paired.')
  const list = page.getByRole('region', { name: 'Paired', exact: true })
  await list.getByText('Can approve', { exact: true }).waitFor()
  const device = createDeviceClient({
    baseUrl: base,
    sessionToken: paired.session_token,
    key,
  })
  assert.equal((await device.me()).user.user_id, person.userId)

  await press(page, `Remove ${name}`)
  await page.getByRole('dialog').getByText('Grants it approved stay active').waitFor()
  await page.keyboard.press('Escape')
  await press(page, `Remove ${name}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).dblclick()
  await hears(page, 'The device was removed.')
  await page.getByText('No devices yet').waitFor()
  await shows(page, 'Devices')
  await assert.rejects(device.me(), { code: 'unauthenticated' })
})
