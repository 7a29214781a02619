/** The settings of e-mail: a server that takes the messages, over TLS. */
import { incomplete, optional, setting } from '../config/settings.ts'
import type { SecretSource } from '../config/settings.ts'

function mailbox(value: string): string {
  if (!/^(?:[^\p{C}<>"@]+ )?<?[^\s<>"@]+@[^\s<>"@]+>?$/u.test(value) || value.includes('<') !== value.endsWith('>')) {
    throw new TypeError('an e-mail address, such as sallyport@example.com or Sallyport <sallyport@example.com>')
  }
  return value
}

export const mailSettings = {
  SALLYPORT_MAIL_FROM: setting(null, 'The sender of e-mail, with SALLYPORT_SMTP_URL', optional(mailbox)),
}

export const mailSecretSettings = {
  SALLYPORT_SMTP_URL: {
    fallback: 'none',
    meaning:
      'SMTP server for e-mail to users: smtp://user:password@host:587 (STARTTLS) or smtps://user:password@host:465 (TLS from the start)',
  },
} as const

interface Values {
  smtpUrl: SecretSource
  mailFrom: string | undefined
}

export function mailContradictions(config: Values): string[] {
  if (!config.smtpUrl.isSet || readSmtpUrl(config.smtpUrl)) {
    return incomplete('e-mail', ['SALLYPORT_SMTP_URL', 'SALLYPORT_MAIL_FROM'], config)
  }
  return [
    'SALLYPORT_SMTP_URL must be smtp://user:password@host:port or smtps://…, with special characters percent-encoded.',
  ]
}

export interface SmtpServer {
  host: string
  port: number
  /** TLS from the start. Otherwise STARTTLS is required. */
  isTls: boolean
  user: string | undefined
  password: string
}

/** Undefined if it is not such a URL. */
export function readSmtpUrl(source: SecretSource): SmtpServer | undefined {
  const url = URL.parse(source.read()?.reveal() ?? '')
  if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') return undefined
  if (!['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '') return undefined
  const isTls = url.protocol === 'smtps:'
  const port = url.port === '' ? (isTls ? 465 : 587) : Number(url.port)
  try {
    const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
    return { host: url.hostname.replace(/^\[|\]$/g, ''), port, isTls, user: user === '' ? undefined : user, password }
  } catch {
    return undefined
  }
}
