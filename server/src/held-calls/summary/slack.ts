/** https://docs.slack.dev/reference/methods: the path names the method, the body what it is applied to. */
import { parseJson } from '../../proxy/body-content.ts'
import { formMembers, jsonMembers, membersOf, textIn } from './call-content.ts'
import type { Members } from './call-content.ts'
import { scopeOf, textDetail } from './routes.ts'
import type { Route, Said } from './routes.ts'
import type { SummarisedCall } from './summary.ts'
import { quoted, quotedName } from './visible-text.ts'

/** Arguments are members of an object or fields of a form. */
export function slackMembers(call: SummarisedCall): Members | undefined {
  return jsonMembers(call) ?? formMembers(call)
}

/** Undefined if one of the arguments is missing. */
function withArguments(wanted: readonly string[], say: (values: string[], members: Members) => Said | undefined) {
  return (_names: string[], members: Members): Said | undefined => {
    const values = wanted.map((name) => textIn(members, name))
    return values.every((value) => value !== undefined) ? say(values, members) : undefined
  }
}

function method(
  name: string,
  wanted: readonly string[],
  say: (...values: string[]) => string,
  repeats?: 'channel',
): Route {
  return {
    method: 'POST',
    path: `/api/${name}`,
    say: withArguments(wanted, (values) => ({
      sentence: say(...values.map((value) => quotedName(value))),
      covers: wanted.filter((_member, index) => quotedName(values[index] ?? '').endsWith('”')),
      repeats: repeats && scopeOf('the channel', values.slice(0, 1)),
    })),
  }
}

/** With blocks or attachments, the text is only what notifications show. */
function message(
  name: string,
  sentence: (channel: string, user?: string) => string,
  extra: string[] = [],
  canRepeat = false,
): Route {
  return {
    method: 'POST',
    path: `/api/${name}`,
    say: withArguments(['channel', ...extra], ([channel = '', second], members) => {
      const text = textIn(members, 'text')
      const hasLayout = ['blocks', 'attachments'].some((member) => members.has(member))
      const said = sentence(quotedName(channel), second === undefined ? undefined : quotedName(second))
      if (text === undefined && !hasLayout) return undefined
      return {
        sentence: hasLayout || text === undefined ? `${said}, with a layout` : `${said}: ${quoted(text)}`,
        details: textDetail(hasLayout ? 'Text of the notification' : 'Text', text),
        covers: ['text'],
        repeats: canRepeat ? scopeOf('the channel', [channel]) : undefined,
      }
    }),
  }
}

/** The files of an upload are a list, which a form contains as JSON. */
function shareFiles(_names: string[], members: Members): Said | undefined {
  const files = listIn(members.get('files'))
  const names = files
    ?.map((file) => membersOf(file))
    .map((file) => file && (textIn(file, 'title') ?? textIn(file, 'id')))
  const channel = textIn(members, 'channel_id')
  const isClear = names?.every((name) => name !== undefined) === true && names.length > 0
  if (!isClear || members.has('channels') || (members.has('channel_id') && channel === undefined)) return undefined
  const what = names.length === 1 ? `the file ${quoted(names[0] ?? '')}` : `${names.length} files`
  const where = channel === undefined ? ' without sharing them' : ` to ${quotedName(channel)} in Slack`
  return {
    sentence: channel === undefined ? `Upload ${what} to Slack` : `Share ${what}${where}`,
    details: [
      ...names.slice(0, 50).flatMap((name) => textDetail('File', name)),
      ...textDetail('Text', textIn(members, 'initial_comment')),
    ],
    covers: ['channel_id', 'initial_comment'],
  }
}

function listIn(value: unknown): unknown[] | undefined {
  try {
    const list: unknown = typeof value === 'string' ? parseJson(value) : value
    return Array.isArray(list) && list.length <= 1000 ? list : undefined
  } catch {
    return undefined
  }
}

function invite(_names: string[], members: Members): Said | undefined {
  const [channel, users] = [textIn(members, 'channel'), textIn(members, 'users')]
  if (channel === undefined || users === undefined) return undefined
  const people = users.split(',').map((user) => user.trim())
  const others = people.length > 1 ? ` and ${people.length - 1} more` : ''
  return {
    sentence: `Invite ${quotedName(people[0] ?? '')}${others} to the channel ${quotedName(channel)} in Slack`,
    details: textDetail('People', people.join('\n')),
    covers: ['channel', 'users'],
  }
}

function createChannel(_names: string[], members: Members): Said | undefined {
  const name = textIn(members, 'name')
  const given = members.get('is_private') ?? false
  const isPrivate = given === true || given === 'true'
  if (name === undefined || (!isPrivate && given !== false && given !== 'false')) return undefined
  return {
    sentence: `Create the ${isPrivate ? 'private' : 'public'} channel ${quotedName(name)} in Slack`,
    covers: ['name', 'is_private'],
  }
}

export const slackRoutes: readonly Route[] = [
  message('chat.postMessage', (channel) => `Post a message to ${channel} in Slack`, [], true),
  message('chat.postEphemeral', (channel, user) => `Post a message to ${channel} in Slack that only ${user} sees`, [
    'user',
  ]),
  message('chat.scheduleMessage', (channel) => `Schedule a message to ${channel} in Slack`),
  message('chat.update', (channel) => `Change a message in ${channel} in Slack`, ['ts']),
  method('chat.delete', ['channel', 'ts'], (channel) => `Delete a message in ${channel} in Slack`),
  method('chat.deleteScheduledMessage', ['channel'], (channel) => `Delete a scheduled message to ${channel} in Slack`),
  { method: 'POST', path: '/api/files.completeUploadExternal', say: shareFiles },
  method('files.delete', ['file'], (file) => `Delete the file ${file} in Slack`),
  { method: 'POST', path: '/api/conversations.invite', say: invite },
  { method: 'POST', path: '/api/conversations.create', say: createChannel },
  method(
    'conversations.kick',
    ['channel', 'user'],
    (channel, user) => `Remove ${user} from the channel ${channel} in Slack`,
  ),
  method('conversations.archive', ['channel'], (channel) => `Archive the channel ${channel} in Slack`),
  method('conversations.unarchive', ['channel'], (channel) => `Restore the archived channel ${channel} in Slack`),
  method('conversations.join', ['channel'], (channel) => `Join the channel ${channel} in Slack`),
  method('conversations.leave', ['channel'], (channel) => `Leave the channel ${channel} in Slack`),
  method(
    'conversations.rename',
    ['channel', 'name'],
    (channel, name) => `Rename the channel ${channel} in Slack to ${name}`,
  ),
  method('conversations.setTopic', ['channel'], (channel) => `Change the topic of the channel ${channel} in Slack`),
  method('conversations.setPurpose', ['channel'], (channel) => `Change the purpose of the channel ${channel} in Slack`),
  method(
    'reactions.add',
    ['channel', 'name', 'timestamp'],
    (channel, name) => `React with ${name} to a message in ${channel} in Slack`,
    'channel',
  ),
  method(
    'reactions.remove',
    ['channel', 'name', 'timestamp'],
    (channel, name) => `Remove the reaction ${name} from a message in ${channel} in Slack`,
  ),
  method('pins.add', ['channel', 'timestamp'], (channel) => `Pin a message in ${channel} in Slack`),
  method('pins.remove', ['channel', 'timestamp'], (channel) => `Unpin a message in ${channel} in Slack`),
]
