/** https://developers.google.com/workspace/gmail/api/reference/rest */
import { isCompressed, mediaTypeOf } from '../../proxy/media-type.ts'
import { jsonMembers, membersOf, textIn, textsIn } from './call-content.ts'
import type { Members } from './call-content.ts'
import { isPlainAddress } from './mail-headers.ts'
import { readMessage } from './mail-message.ts'
import type { MailMessage } from './mail-message.ts'
import { sayMail } from './mail-sentences.ts'
import { textDetail } from './routes.ts'
import type { Route, Said } from './routes.ts'
import type { SummarisedCall } from './summary.ts'
import { quotedName } from './visible-text.ts'

const upload = '/upload/'

/** Members of JSON. An upload is a message as it is. */
export function gmailMembers(call: SummarisedCall): Members | undefined {
  const { url, headers } = call
  const type = url.searchParams.get('uploadType')
  if (!url.pathname.startsWith(upload)) return type === null ? jsonMembers(call) : undefined
  const isMessage = mediaTypeOf(headers).type === 'message/rfc822' && !isCompressed(headers)
  return isMessage && (type === null || type === 'media') ? new Map() : undefined
}

/** A message as JSON. Google's APIs accept other names for members too, so no others may be there. */
function messageIn(members: Members): MailMessage | undefined {
  const raw = textIn(members, 'raw')
  if (raw === undefined || [...members.keys()].some((name) => !['raw', 'threadId', 'labelIds'].includes(name))) {
    return undefined
  }
  const bytes = Buffer.from(raw, 'base64url')
  const isExact = bytes.toString('base64url') === raw.replace(/={1,2}$/, '')
  return isExact ? readMessage(bytes) : undefined
}

function whose(user = ''): string {
  return user === 'me' ? '' : ` as ${isPlainAddress(user) && user.length <= 80 ? user : quotedName(user)}`
}

function sayMessage(verb: string) {
  return ([user]: string[], members: Members): Said | undefined => {
    const mail = messageIn(members)
    const said = mail && sayMail(`${verb}${whose(user)}`, mail)
    return said && { ...said, covers: ['raw'] }
  }
}

/** The message itself is the body. */
const sayUpload: Route['say'] = ([user], _members, { body }) => {
  const mail = body && readMessage(body)
  return mail && sayMail(`Send an e-mail${whose(user)}`, mail)
}

function sendDraft([user]: string[], members: Members): Said | undefined {
  const [id, message] = [textIn(members, 'id'), members.get('message')]
  if ([...members.keys()].some((name) => name !== 'id' && name !== 'message')) return undefined
  if (message === undefined) {
    return id === undefined
      ? undefined
      : { sentence: `Send the draft ${quotedName(id)} as an e-mail${whose(user)}`, covers: ['id'] }
  }
  const mail = messageIn(membersOf(message) ?? new Map())
  const said = mail && sayMail(`Send a draft${whose(user)}`, mail)
  return said && { ...said, covers: ['message'], repeats: undefined }
}

function createDraft([user]: string[], members: Members): Said | undefined {
  const mail = messageIn(membersOf(members.get('message')) ?? new Map())
  if (!mail || members.size !== 1) return undefined
  const said = sayMail(`Write a draft${whose(user)}`, mail)
  return { sentence: `Write a draft${whose(user)}`, ...said, covers: ['message'], repeats: undefined }
}

function changeLabels(what: string) {
  return ([user, id = '']: string[], members: Members): Said | undefined => {
    const [added, removed] = [textsIn(members, 'addLabelIds'), textsIn(members, 'removeLabelIds')]
    if (!added || !removed || [...members.keys()].some((name) => name !== 'addLabelIds' && name !== 'removeLabelIds'))
      return undefined
    return {
      sentence: `Change the labels of the ${what} ${quotedName(id)}${whose(user)}`,
      details: [
        ...textDetail('Added', added.join('\n') || undefined),
        ...textDetail('Removed', removed.join('\n') || undefined),
      ],
      covers: ['addLabelIds', 'removeLabelIds'],
    }
  }
}

function several(verb: string) {
  return ([user]: string[], members: Members): Said | undefined => {
    const ids = textsIn(members, 'ids')
    if (!ids || ids.length === 0) return undefined
    return { sentence: `${verb} ${ids.length === 1 ? 'one e-mail' : `${ids.length} e-mails`}${whose(user)}` }
  }
}

function plain(method: string, path: string, sentence: (id: string) => string): Route {
  return { method, path, say: ([user, id = '']) => ({ sentence: `${sentence(quotedName(id))}${whose(user)}` }) }
}

const users = '/gmail/v1/users/*'

export const gmailRoutes: readonly Route[] = [
  { method: 'POST', path: `${users}/messages/send`, say: sayMessage('Send an e-mail') },
  { method: 'POST', path: `${upload.slice(0, -1)}${users}/messages/send`, say: sayUpload },
  { method: 'POST', path: `${users}/drafts`, say: createDraft },
  { method: 'POST', path: `${users}/drafts/send`, say: sendDraft },
  plain('DELETE', `${users}/drafts/*`, (id) => `Delete the draft ${id}`),
  { method: 'POST', path: `${users}/messages/batchDelete`, say: several('Delete forever') },
  { method: 'POST', path: `${users}/messages/batchModify`, say: several('Change the labels of') },
  ...(['message', 'thread'] as const).flatMap((kind): Route[] => {
    const [path, what] = [`${users}/${kind}s/*`, kind === 'message' ? 'e-mail' : 'conversation']
    return [
      plain('DELETE', path, (id) => `Delete the ${what} ${id} forever`),
      plain('POST', `${path}/trash`, (id) => `Move the ${what} ${id} to the trash`),
      plain('POST', `${path}/untrash`, (id) => `Take the ${what} ${id} out of the trash`),
      { method: 'POST', path: `${path}/modify`, say: changeLabels(what) },
    ]
  }),
  plain('DELETE', `${users}/labels/*`, (id) => `Delete the label ${id} from all e-mails`),
]
