/** https://learn.microsoft.com/en-us/graph/api/resources/message: mail in Microsoft Graph. */
import { isUtf8 } from 'node:buffer'
import { isCompressed, mediaTypeOf } from '../../proxy/media-type.ts'
import { jsonMembers, membersOf } from './call-content.ts'
import type { Members } from './call-content.ts'
import { isPlainAddress, readBase64 } from './mail-headers.ts'
import { readMessage } from './mail-message.ts'
import { mailDetails, sayMail } from './mail-sentences.ts'
import type { Mail } from './mail-sentences.ts'
import { otherMembers, textDetail } from './routes.ts'
import type { Route, Said } from './routes.ts'
import type { SummarisedCall } from './summary.ts'
import { quotedName } from './visible-text.ts'

/** Case doesn't count, so names are in lower case. Undefined if two of them are the same then. */
export function graphMembers(call: SummarisedCall): Members | undefined {
  // A message in MIME is base64 as text/plain.
  if (isMime(call)) return new Map()
  return inLowerCase(jsonMembers(call))
}

function isMime({ url, headers }: SummarisedCall): boolean {
  return url.pathname.endsWith('/sendMail') && mediaTypeOf(headers).type === 'text/plain'
}

function inLowerCase(members: Members | undefined): Members | undefined {
  const lower = members && new Map([...members].map(([name, value]) => [name.toLowerCase(), value]))
  return lower?.size === members?.size ? lower : undefined
}

function objectIn(members: Members, name: string): Members | undefined {
  return inLowerCase(membersOf(members.get(name)))
}

function addressesIn(members: Members, name: string): string[] | undefined {
  const list: unknown = members.get(name) ?? []
  if (!Array.isArray(list) || list.length > 500) return undefined
  const addresses = list.map((one) => addressIn(inLowerCase(membersOf(one))))
  return addresses.every((one) => one !== undefined) ? addresses : undefined
}

function addressIn(recipient: Members | undefined): string | undefined {
  const address = recipient && objectIn(recipient, 'emailaddress')?.get('address')
  return typeof address === 'string' && isPlainAddress(address) ? address : undefined
}

function singleAddress(members: Members, name: string): string[] | undefined {
  const value = members.get(name)
  if (value === undefined || value === null) return []
  const address = addressIn(objectIn(members, name))
  return address === undefined ? undefined : [address]
}

/** Undefined if a part of it is not as documented. */
function readMail(message: Members): Mail | undefined {
  const [to, cc, bcc] = [
    addressesIn(message, 'torecipients'),
    addressesIn(message, 'ccrecipients'),
    addressesIn(message, 'bccrecipients'),
  ]
  const [from, replyTo] = [singleAddress(message, 'from'), addressesIn(message, 'replyto')]
  const [subject, attachments] = [message.get('subject') ?? '', message.get('attachments') ?? []]
  const content = readContent(message)
  if (!to || !cc || !bcc || !from || !replyTo || !content) return undefined
  if (typeof subject !== 'string' || !Array.isArray(attachments) || !subject.isWellFormed()) return undefined
  const files = attachments.map((one) => inLowerCase(membersOf(one))?.get('name'))
  if (!files.every((file) => typeof file === 'string')) return undefined
  return { to, cc, bcc, from, replyTo, subject, ...content, files }
}

function readContent(message: Members): Pick<Mail, 'text' | 'html'> | undefined {
  if (!message.has('body')) return { text: undefined, html: undefined }
  const body = objectIn(message, 'body')
  const [type, content] = [body?.get('contenttype') ?? 'text', body?.get('content')]
  if (typeof type !== 'string' || typeof content !== 'string' || !content.isWellFormed()) return undefined
  if (type.toLowerCase() === 'text') return { text: content, html: undefined }
  return type.toLowerCase() === 'html' ? { text: undefined, html: content } : undefined
}

const known = ['torecipients', 'ccrecipients', 'bccrecipients', 'from', 'replyto', 'subject', 'attachments', 'body']

function sendMail(call: SummarisedCall, members: Members, as: string): Said | undefined {
  if (isMime(call)) return sendMime(call, as)
  const message = objectIn(members, 'message')
  const mail = message && readMail(message)
  const said = mail && sayMail(`Send an e-mail${as}`, mail)
  if (!said) return undefined
  return { ...said, details: [...(said.details ?? []), ...otherMembers(message, known)], covers: ['message'] }
}

function sendMime({ headers, body }: SummarisedCall, as: string): Said | undefined {
  if (!body || isCompressed(headers) || !isUtf8(body)) return undefined
  const bytes = readBase64(body.toString('latin1').replaceAll('\r', '').replaceAll('\n', ''))
  const mail = bytes && readMessage(bytes)
  return mail && sayMail(`Send an e-mail${as}`, mail)
}

/** To those who got or sent the message, and those that the call adds. */
function answer(verb: string) {
  return ([id = '']: string[], members: Members, as: string): Said | undefined => {
    const message = members.has('message') ? objectIn(members, 'message') : new Map<string, unknown>()
    const comment = members.get('comment')
    if (!message || (comment !== undefined && typeof comment !== 'string')) return undefined
    const mail = readMail(message)
    const added = mail && [...mail.to, ...mail.cc, ...mail.bcc]
    if (!mail || !added) return undefined
    const more = added.length === 0 ? '' : `, with ${added.length} recipients that the call names`
    return {
      sentence: `${verb} the e-mail ${quotedName(id)}${as}${more}`,
      details: [...mailDetails(mail), ...textDetail('Comment', comment), ...otherMembers(message, known)],
      covers: ['message', 'comment'],
    }
  }
}

function forward([id = '']: string[], members: Members, as: string): Said | undefined {
  const message = members.has('message') ? objectIn(members, 'message') : new Map<string, unknown>()
  const [people, mail] = [addressesIn(members, 'torecipients'), message && readMail(message)]
  const comment = members.get('comment')
  if (!people || !message || !mail || (comment !== undefined && typeof comment !== 'string')) return undefined
  const all = [...new Set([...people, ...mail.to, ...mail.cc, ...mail.bcc])]
  const [first] = all
  if (first === undefined || first.length > 80) return undefined
  const others = all.length > 1 ? ` and ${all.length - 1} ${all.length === 2 ? 'other' : 'others'}` : ''
  return {
    sentence: `Forward the e-mail ${quotedName(id)}${as} to ${first}${others}`,
    details: [
      ...mailDetails({ ...mail, to: [...new Set([...people, ...mail.to])] }),
      ...textDetail('Comment', comment),
      ...otherMembers(message, known),
    ],
    covers: ['torecipients', 'message', 'comment'],
  }
}

type Say = (names: string[], members: Members, as: string, call: SummarisedCall) => Said | undefined

function ofMessage(method: string, path: string, sentence: (id: string) => string): [string, string, Say] {
  return [method, path, ([id = ''], _members, as) => ({ sentence: `${sentence(quotedName(id))}${as}` })]
}

const operations: [method: string, path: string, say: Say][] = [
  ['POST', '/sendMail', (_names, members, as, call) => sendMail(call, members, as)],
  ['POST', '/messages/*/reply', answer('Answer')],
  ['POST', '/messages/*/replyAll', answer('Answer everyone of')],
  ['POST', '/messages/*/forward', forward],
  ofMessage('POST', '/messages/*/send', (id) => `Send the draft ${id} as an e-mail`),
  ofMessage('POST', '/messages/*/move', (id) => `Move the e-mail ${id} to another folder`),
  ofMessage('POST', '/messages/*/permanentDelete', (id) => `Delete the e-mail ${id} forever`),
  ofMessage('DELETE', '/messages/*', (id) => `Delete the e-mail ${id}`),
  ofMessage('PATCH', '/messages/*', (id) => `Change the e-mail ${id}`),
]

export const microsoftMailRoutes: readonly Route[] = ['v1.0', 'beta'].flatMap((version) =>
  operations.flatMap(([method, path, say]): Route[] => [
    { method, path: `/${version}/me${path}`, say: (names, members, call) => say(names, members, '', call) },
    {
      method,
      path: `/${version}/users/*${path}`,
      say: ([user = '', ...names], members, call) => {
        const as = isPlainAddress(user) && user.length <= 80 ? user : quotedName(user)
        return say(names, members, ` as ${as}`, call)
      },
    },
  ]),
)
