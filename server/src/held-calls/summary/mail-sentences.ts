/** What is said of an e-mail, whichever API sends it. */
import type { MailMessage } from './mail-message.ts'
import { scopeOf, textDetail } from './routes.ts'
import type { Said } from './routes.ts'
import type { Detail } from './summary.ts'
import { quoted, shownValue } from './visible-text.ts'

export type Mail = Omit<MailMessage, 'from'> & {
  from: string[]
  /** It says nothing of its recipients: it answers or forwards another one. */
  isAnswer?: boolean
}

/** `verb`: “Send an e-mail”. Undefined without recipients, or if the first of them is too long to be read. */
export function sayMail(verb: string, mail: Mail): Said | undefined {
  const people = [...new Set([...mail.to, ...mail.cc, ...mail.bcc])]
  const [first] = people
  if (first === undefined || first.length > 80) return undefined
  const others = people.length - 1
  const more = others === 0 ? '' : ` and ${others} ${others === 1 ? 'other' : 'others'}`
  return {
    sentence: `${verb} to ${first}${more}: ${mail.subject === '' ? 'no subject' : quoted(mail.subject)}`,
    details: mailDetails(mail),
    repeats: scopeOfMail(people, mail),
  }
}

/** Answers go to the sender, or where the mail says: another one would lead them astray. */
function scopeOfMail(people: readonly string[], { from, replyTo }: Mail): string | undefined {
  const scopes = [scopeOf('the recipients', people.toSorted())]
  if (from.length > 0) scopes.push(scopeOf('the sender', from.toSorted()))
  if (replyTo.length > 0) scopes.push(scopeOf('answers to', replyTo.toSorted()))
  return scopes.includes(undefined) ? undefined : scopes.join('; ')
}

export function mailDetails(mail: Mail): Detail[] {
  const list = (name: string, values: readonly string[]): Detail[] =>
    values.length === 0 ? [] : [{ name, value: shownValue(values.join('\n'), { length: 10_000, hasLines: true }) }]
  return [
    ...list('From', mail.from),
    ...list('To', mail.to),
    ...list('Cc', mail.cc),
    ...list('Bcc', mail.bcc),
    ...list('Answers go to', mail.replyTo),
    ...(mail.subject === '' ? [] : [{ name: 'Subject', value: shownValue(mail.subject, { length: 1000 }) }]),
    ...mail.files.slice(0, 100).map((file) => ({ name: 'Attachment', value: shownValue(file, { length: 200 }) })),
    ...(mail.files.length > 100 ? [{ name: 'More', value: `${mail.files.length - 100} more attachments` }] : []),
    ...textDetail('Text', mail.text),
    ...textDetail('HTML', mail.html),
  ]
}
