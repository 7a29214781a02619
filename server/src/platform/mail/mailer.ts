/** Hands messages to the operator's SMTP server. TLS with a verified certificate is required, also by STARTTLS. */
import { rootCertificates } from 'node:tls'
import type { Transporter } from 'nodemailer'
import type { SecretSource } from '../config/settings.ts'
import { readSmtpUrl } from './mail-settings.ts'

export interface Letter {
  to: string
  subject: string
  /** Plain text. */
  text: string
}

/** `reason` is a code for the log: never who it was for. */
export type MailOutcome = { kind: 'sent' } | { kind: 'later' | 'refused'; reason: string }

interface MailerNeeds {
  config: {
    smtpUrl: SecretSource
    mailFrom: string | undefined
    egressCaFile: { pem: string } | undefined
  }
}

export type Mailer = (letter: Letter) => Promise<MailOutcome>

/** Undefined without settings. */
export function createMailer({ config }: MailerNeeds): Mailer | undefined {
  const { smtpUrl, mailFrom: from } = config
  if (!smtpUrl.isSet || from === undefined) return undefined
  return async ({ to, subject, text }) => {
    let transport: Transporter | undefined
    try {
      transport = await connect(config)
      const headers = { 'Auto-Submitted': 'auto-generated' }
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text, headers })
      return { kind: 'sent' }
    } catch (error) {
      return outcomeOf(error as { code?: string; responseCode?: number; command?: string })
    } finally {
      transport?.close()
    }
  }
}

/** Only here is the package loaded. The password is read anew each time, as it may have been changed. */
async function connect({ smtpUrl, egressCaFile }: MailerNeeds['config']): Promise<Transporter> {
  const server = readSmtpUrl(smtpUrl)
  if (!server) throw new TypeError('no SMTP server')
  const { host, port, isTls, user, password: pass } = server
  const { createTransport } = await import('nodemailer')
  return createTransport({
    ...{ host, port, secure: isTls, requireTLS: true },
    ...(user !== undefined && { auth: { user, pass } }),
    ...{ connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000, dnsTimeout: 10_000 },
    ...{ disableFileAccess: true, disableUrlAccess: true },
    tls: { minVersion: 'TLSv1.2', ...(egressCaFile && { ca: [...rootCertificates, egressCaFile.pem] }) },
  })
}

/** A server that refuses us may be set up wrongly. One that refuses the recipient does so for good. */
function outcomeOf({ code, responseCode, command }: { code?: string; responseCode?: number; command?: string }) {
  const reason = [code, responseCode].filter(Boolean).join(' ') || 'unknown'
  const isFinal = responseCode !== undefined && responseCode >= 500 && command !== 'AUTH' && code !== 'EAUTH'
  return isFinal && code === 'EENVELOPE' ? { kind: 'refused' as const, reason } : { kind: 'later' as const, reason }
}
