/** E-mail about requests and refused calls, on a real SMTP server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { apiHosts, startAccessTest } from '../../testkit/access-requests.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { smtpUrl, startSmtpServer } from '../../testkit/smtp-server.ts'
import type { Engine } from '../platform/database/database.ts'
import { letterOf } from './letter.ts'

async function startMailTest(t: TestContext, engine: Engine) {
  const smtp = await startSmtpServer(t)
  const access = await startAccessTest(t, engine, {
    SALLYPORT_SMTP_URL: smtpUrl(smtp),
    SALLYPORT_MAIL_FROM: 'sallyport@example.com',
    SALLYPORT_EGRESS_CA_FILE: smtp.caFile,
    SALLYPORT_EGRESS_ALLOW: 'localhost:1',
  })
  const mail = (method: string, token = access.user.token) => access.call(method, '/v4/mail', { token })
  /** What arrives once this much time has passed: recipient and subject. */
  const after = async (seconds: number) => {
    access.clock.advance(seconds)
    await access.app.catchUp()
    return smtp.received.splice(0).map(({ to, raw }) => {
      const [, subject] = /^Subject: (.*(?:\r\n[ \t].*)*)\r$/m.exec(raw) ?? []
      return `${to.join()}: ${subject}`
    })
  }
  return { ...access, smtp, mail, after }
}

const minute = 60
const asking = { user_id: 'ada@example.com' }

onBothDatabases('e-mail', (engine) => {
  test('a user who wants it is told of new requests, in one message for many, and of none twice', async (t) => {
    const { asked, deny, mail, after, registerAgent } = await startMailTest(t, engine)
    await asked(asking)
    assert.deepEqual(await after(minute), [], 'nobody gets any without having asked for it')
    assert.deepEqual((await mail('PUT')).body, { available: true, address: 'ada@example.com', on: true })
    assert.deepEqual(await after(minute), [], 'nor about what was there before')
    await asked(asking)
    assert.deepEqual(await after(2 * minute), ['ada@example.com: Sallyport: A request waits for you'])
    const other = await registerAgent('Other')
    for (let count = 0; count < 5; count++) await asked(asking, other.token)
    assert.deepEqual(await after(minute), [], 'ten minutes lie between messages')
    assert.deepEqual(await after(10 * minute), ['ada@example.com: Sallyport: 5 requests wait for you'])
    // Decided before the message is written, or of an agent that was muted by that.
    await deny(await asked(asking))
    await asked(asking)
    assert.deepEqual(await after(20 * minute), [])
    assert.equal((await mail('DELETE')).body.on, false)
    await asked(asking, other.token)
    assert.deepEqual(await after(20 * minute), [])
  })

  test('refused calls are one message an hour, and only of agents with a grant', async (t) => {
    const { asked, approve, mail, after, call, agent, smtp, registerAgent, clock } = await startMailTest(t, engine)
    const grant = (await approve(await asked(asking), { allowed_methods: ['GET'] })).body.grant_id
    const tryIt = async (token = agent.token) => {
      const body = { grant_id: grant, method: 'DELETE', url: `https://${apiHosts[0]}/things` }
      return (await call('POST', '/v4/proxy', { token, body })).status
    }
    await mail('PUT')
    clock.advance(1)
    for (let count = 0; count < 7; count++) assert.equal(await tryIt(), 403)
    assert.equal(await tryIt((await registerAgent('Stranger')).token), 404)
    assert.deepEqual(await after(minute), ['ada@example.com: Sallyport: 7 calls were refused'])
    await tryIt()
    assert.deepEqual(await after(30 * minute), [])
    assert.deepEqual(await after(40 * minute), ['ada@example.com: Sallyport: 1 call was refused'])
    assert.deepEqual(smtp.received, [])
  })

  test('a message that could not be sent is retried, and two processes send it once', async (t) => {
    const { asked, mail, after, smtp, app, clock } = await startMailTest(t, engine)
    await mail('PUT')
    clock.advance(1)
    await asked(asking)
    smtp.refuseWith(451)
    assert.deepEqual(await after(minute), [])
    smtp.refuseWith(undefined)
    clock.advance(10 * minute)
    await Promise.all([app.catchUp(), app.catchUp(), app.catchUp()])
    assert.equal(smtp.received.length, 1)
    smtp.received.splice(0)
    await asked(asking)
    smtp.refuseWith(550)
    assert.deepEqual(await after(15 * minute), [])
    smtp.refuseWith(undefined)
    assert.deepEqual(await after(60 * minute), [], 'a mailbox that does not exist is not tried again')
  })

  test('a disabled user gets none', async (t) => {
    const { asked, mail, after, call, user, adminToken, clock } = await startMailTest(t, engine)
    await mail('PUT')
    clock.advance(1)
    await asked(asking)
    await call('POST', `/v4/users/${user.userId}/disable`, { token: adminToken })
    assert.deepEqual(await after(20 * minute), [])
  })
})

test("a message has an agent's name only quoted, short, and without a link", () => {
  const evil = 'x”. Sign in at https://evil.example/login now, or lose your account for good\r\nDecide: evil'
  const news = {
    requests: [{ id: 'arq_1', agent: evil, provider: undefined }],
    refusals: [{ agent: 'evil.example', calls: 100 }],
    isMore: true,
  }
  const { subject, text } = letterOf(news, 'https://sallyport.example.com')
  assert.equal(subject, 'Sallyport: A request waits for you, more than 100 calls were refused')
  const links = text.match(/https?:\/\/\S+/g) ?? []
  assert.deepEqual(links, [
    'https://sallyport.example.com/approve-proxy/arq_1',
    'https://sallyport.example.com/activity?kind=proxy.refused',
    'https://sallyport.example.com/account',
  ])
  const quoted = text.split('\n').filter((line) => line.startsWith('> '))
  assert.deepEqual(quoted, [
    '> “x’. Sign in at https: / / evil. example/ log…” (not verified) asks for access to a provider that is not verified',
    '> “evil. example” (not verified): 100 calls',
  ])
  assert.equal(text.split('\n').filter((line) => line.includes('evil')).length, 2)
})
