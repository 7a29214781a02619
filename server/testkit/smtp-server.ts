/** A real SMTP server on loopback that keeps what it gets. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { createAuthority, sharedAuthority } from './certificates.ts'
import { temporaryFolder } from './databases.ts'

export interface TestSmtpServer {
  port: number
  caFile: string
  caPem: string
  /** As they came, with headers. */
  received: { to: string[]; from: string; raw: string; isOverTls: boolean }[]
  /** Answers every recipient with this code, until it is undefined again. */
  refuseWith: (code: number | undefined) => void
}

interface Options {
  /** TLS from the start. */
  isTls?: boolean
  /** No STARTTLS. */
  isPlain?: boolean
  /** A certificate of an authority that nobody trusts. */
  isStranger?: boolean
}

export const account = { user: 'sally@example.com', pass: 'a password: with / and @' }

export async function startSmtpServer(
  t: Pick<TestContext, 'after'>,
  { isTls = false, isPlain = false, isStranger = false }: Options = {},
): Promise<TestSmtpServer> {
  const trusted = await sharedAuthority()
  const authority = isStranger ? await createAuthority(temporaryFolder(t)) : trusted
  const certificate = await authority.issue({ names: ['localhost'] })
  const received: TestSmtpServer['received'] = []
  let refusal: number | undefined
  const server = new SMTPServer({
    ...certificate,
    secure: isTls,
    ...(isPlain && { disabledCommands: ['STARTTLS'], allowInsecureAuth: true }),
    onAuth: ({ username, password }, _session, answer) => {
      const isRight = username === account.user && password === account.pass
      if (isRight) answer(null, { user: username })
      else answer(new Error('wrong password'))
    },
    onRcptTo: (_address, _session, answer) => {
      if (refusal === undefined) answer()
      else answer(Object.assign(new Error('no such mailbox'), { responseCode: refusal }))
    },
    onData: (stream, { envelope, secure }, answer) => {
      void text(stream).then((raw) => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        received.push({ to: envelope.rcptTo.map(({ address }) => address), from, raw, isOverTls: secure })
        answer()
      })
    },
  })
  // Clients of tests break off on purpose.
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(resolve)
      }),
  )
  return {
    port: (server.server.address() as AddressInfo).port,
    caFile: trusted.caFile,
    caPem: trusted.caPem,
    received,
    refuseWith: (code) => {
      refusal = code
    },
  }
}

/** With the password, percent-encoded. */
export function smtpUrl({ port }: Pick<TestSmtpServer, 'port'>, scheme: 'smtp' | 'smtps' = 'smtp'): string {
  return `${scheme}://${encodeURIComponent(account.user)}:${encodeURIComponent(account.pass)}@localhost:${port}`
}
