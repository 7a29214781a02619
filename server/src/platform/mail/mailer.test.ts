import assert from 'node:assert/strict'
import { test } from 'node:test'
import { smtpUrl, startSmtpServer } from '../../../testkit/smtp-server.ts'
import type { TestSmtpServer } from '../../../testkit/smtp-server.ts'
import { readConfig } from '../../config/config.ts'
import { ConfigError } from '../config/settings.ts'
import { createMailer } from './mailer.ts'
import type { Letter } from './mailer.ts'

const letter: Letter = { to: 'ada@example.com', subject: 'A request waits', text: 'Grüße\n> “Helper”\n' }
const from = 'Sallyport <sallyport@example.com>'

function send(server: TestSmtpServer, scheme: 'smtp' | 'smtps' = 'smtp', url = smtpUrl(server, scheme)) {
  const config = readConfig({
    SALLYPORT_SMTP_URL: url,
    SALLYPORT_MAIL_FROM: from,
    SALLYPORT_EGRESS_CA_FILE: server.caFile,
    SALLYPORT_EGRESS_ALLOW: 'localhost:1',
  })
  const mailer = createMailer({ config })
  assert.ok(mailer)
  return (changes: Partial<Letter> = {}) => mailer({ ...letter, ...changes })
}

test('a message goes out over STARTTLS or TLS, with the password from the URL', async (t) => {
  for (const isTls of [false, true]) {
    const server = await startSmtpServer(t, { isTls })
    assert.deepEqual(await send(server, isTls ? 'smtps' : 'smtp')(), { kind: 'sent' })
    const [message] = server.received
    assert.deepEqual(
      [message?.to, message?.from, message?.isOverTls],
      [['ada@example.com'], 'sallyport@example.com', true],
    )
    assert.match(message?.raw ?? '', /^Subject: A request waits\r$/m)
    assert.match(message?.raw ?? '', /^Auto-Submitted: auto-generated\r$/m)
    assert.match(message?.raw ?? '', /^Content-Type: text\/plain; charset=utf-8\r$/m)
  }
})

test('nothing is sent without TLS, to an unknown certificate, or with a wrong password', async (t) => {
  const plain = await startSmtpServer(t, { isPlain: true })
  const stranger = await startSmtpServer(t, { isStranger: true })
  const strangerTls = await startSmtpServer(t, { isStranger: true, isTls: true })
  const right = await startSmtpServer(t)
  const kinds = [
    await send(plain)(),
    await send(stranger)(),
    await send(strangerTls, 'smtps')(),
    await send(right, 'smtp', `smtp://sally:wrong@localhost:${right.port}`)(),
  ].map(({ kind }) => kind)
  assert.deepEqual(kinds, ['later', 'later', 'later', 'later'])
  for (const { received } of [plain, stranger, strangerTls, right]) assert.deepEqual(received, [])
})

test('a mailbox that does not exist is refused for good, another failure is not', async (t) => {
  const server = await startSmtpServer(t)
  const mail = send(server)
  server.refuseWith(550)
  assert.equal((await mail()).kind, 'refused')
  server.refuseWith(451)
  assert.equal((await mail()).kind, 'later')
  server.refuseWith(undefined)
  assert.equal((await mail()).kind, 'sent')
})

test('text with line breaks adds no header and no recipient', async (t) => {
  const server = await startSmtpServer(t)
  const mail = send(server)
  await mail({
    subject: 'One\r\nBcc: eve@example.com\r\n\r\nbody',
    text: 'One\r\n.\r\nMAIL FROM:<eve@example.com>\r\n',
  })
  await mail({ to: 'ada@example.com\r\nRCPT TO:<eve@example.com>' })
  await mail({ to: 'ada@example.com, eve@example.com' })
  for (const { to, raw } of server.received) {
    assert.ok(to.length === 1 && !to.includes('eve@example.com'), to.join())
    const [headers = ''] = raw.split('\r\n\r\n')
    assert.doesNotMatch(headers, /^Bcc:/im)
  }
  assert.ok(server.received.length > 0)
})

test('wrong settings stop the start, without showing the password', () => {
  const problems = (env: Record<string, string>) => {
    try {
      readConfig(env)
      return ''
    } catch (error) {
      assert.ok(error instanceof ConfigError)
      return error.message
    }
  }
  const url = 'smtps://user:a-password@mail.example.com'
  assert.equal(problems({ SALLYPORT_SMTP_URL: url, SALLYPORT_MAIL_FROM: from }), '')
  assert.match(problems({ SALLYPORT_SMTP_URL: url }), /SALLYPORT_MAIL_FROM: not set/)
  assert.match(problems({ SALLYPORT_MAIL_FROM: from }), /SALLYPORT_SMTP_URL: not set/)
  for (const wrong of ['https://mail.example.com', 'smtp://', `${url}/path`, 'mail.example.com:25']) {
    assert.match(problems({ SALLYPORT_SMTP_URL: wrong, SALLYPORT_MAIL_FROM: from }), /SALLYPORT_SMTP_URL must be smtp:/)
  }
  for (const wrong of ['nobody', 'a@b c@d', 'A <a@b>\r\nBcc: c@d', 'A" <a@b>']) {
    assert.match(problems({ SALLYPORT_SMTP_URL: url, SALLYPORT_MAIL_FROM: wrong }), /SALLYPORT_MAIL_FROM/)
  }
  assert.doesNotMatch(problems({ SALLYPORT_SMTP_URL: `${url}/path`, SALLYPORT_MAIL_FROM: from }), /a-password/)
})
