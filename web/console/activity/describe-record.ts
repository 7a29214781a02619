/** What is on record, in words that a person understands. Who did it comes first. */
import type { AuditRecord } from '@sallyport/sdk'
import { count, theirs } from '../../ui/words.ts'
import type { Part, Words } from '../../ui/words.ts'
import { describeCall } from './describe-call.ts'

/** What is known of those whom a record names by their ids alone. */
export interface Names {
  /** An account as its person knows it. */
  account: (connectionId: string) => { provider: string; label: string | null } | undefined
}

export const noNames: Names = { account: () => undefined }

export function describeRecord(record: AuditRecord, names: Names = noNames): Words {
  const who = agentOf(record)
  const { event } = record
  if (isCall(event)) return capital(describeCall(record, who))
  return capital([...sentences[event](record, who, names), '.'])
}

function capital([first = '', ...rest]: Words): Words {
  return typeof first === 'string' ? [first.charAt(0).toUpperCase() + first.slice(1), ...rest] : [first, ...rest]
}

type Event = AuditRecord['event']
type CallEvent = Extract<Event, `proxy.${string}`>

function isCall(event: Event): event is CallEvent {
  return event.startsWith('proxy.')
}

type Describe = (record: AuditRecord, who: Part, names: Names) => Words

const says =
  (text: string): Describe =>
  () => [text]

const sentences: Record<Exclude<Event, CallEvent>, Describe> = {
  'agent.registered': (_record, who) => [who, ' registered'],
  'agent.token_rotated': (_record, who) => [who, ' got a new token'],
  'agent.disabled': (_record, who) => [who, ' was disabled'],
  'agent.blocked': (_record, who) => ['You blocked ', who],
  'agent.unmuted': (_record, who) => ['You let ', who, ' ask again'],
  'user.created': says('Your user was made'),
  'user.disabled': says('Your user was disabled'),
  'identity.linked': (record) => ['A way to sign in was linked to you', ...naming(record, 'via')],
  'login_token.issued': says('A sign-in link was made for you'),
  'session.started': says('You signed in'),
  'session.revoked': says('A session of yours was ended'),
  'provider.created': (record) => provider(record, 'was added'),
  'provider.proposed': (record, who) => [who, ' proposed the provider ', ...slugOf(record)],
  'provider.updated': (record) => provider(record, 'was changed'),
  'provider.credentials_changed': (record) => provider(record, 'got other credentials'),
  'provider.rediscovered': (record) => provider(record, 'was asked anew for its addresses'),
  'provider.enabled': (record) => provider(record, 'was switched on'),
  'provider.disabled': (record) => provider(record, 'was switched off'),
  'provider.deleted': (record) => provider(record, 'was removed'),
  'connection.created': (record, _who, names) => ['You connected ', ...accountOf(record, names)],
  'connection.renewed': (record, _who, names) => ['You signed in again with ', ...accountOf(record, names)],
  'connection.refused': (record) => [`An account was not connected: ${connectReasonOf(record)}`],
  'connection.refreshed': (record, _who, names) => ['The token of ', ...accountOf(record, names), ' was renewed'],
  'connection.needs_reauth': (record, _who, names) => [
    'Sign in again with ',
    ...accountOf(record, names),
    ': the provider no longer accepts it',
  ],
  'connection.revoked': (record, _who, names) => ['You disconnected ', ...accountOf(record, names)],
  'connection.revoked_remotely': (record, _who, names) =>
    textOf(record, 'outcome') === 'done'
      ? ['The provider ended the tokens of ', ...accountOf(record, names), ' too']
      : ['The provider did not end the tokens of ', ...accountOf(record, names)],
  'access_request.created': (record, who) => [who, ' asked for access', ...naming(record, 'provider', ' to ')],
  'access_request.approved': (record, who) => [
    'You gave access to ',
    who,
    isSigned(record.detail['receipt']) ? byDevice : '',
  ],
  'access_request.denied': (record, who) => [
    'You denied access to ',
    who,
    record.detail['blocked'] === true ? ' and blocked it' : '',
    textOf(record, 'device_id') === undefined ? '' : byDevice,
  ],
  'access_request.cancelled': (_record, who) => [who, ' took its request back'],
  'grant.revoked': (record, who) =>
    textOf(record, 'by') === 'agent' ? [who, ' gave its access up'] : ['You revoked the access of ', who],
  'pairing_code.issued': says('You asked for a code to pair a device'),
  'device.paired': says('A device was paired'),
  'device.enrolled': says('A device may decide from now on'),
  'device.revoked': says('A device was removed'),
  'device_approval.required': says('You decide on your devices only from now on'),
  'device_approval.lifted': says('You decide here, too, from now on'),
  'device_approval.reset': says('Whoever runs this service let you decide without a device again'),
  'callback.delivered': (record, who) => [who, ' was told of your answer', ...naming(record, 'host', ' at ')],
  'callback.failed': (record, who) => [who, ' could not be told of your answer', ...naming(record, 'host', ' at ')],
  'sandbox.started': (_record, who) => [who, ' started its sandbox'],
  'v1.registered': says('A client of the v1 protocol registered'),
  'v1.refreshed': says('A client of the v1 protocol got a new challenge'),
  'v1.key_rotated': says('A client of the v1 protocol changed its key'),
  'v1.saved': says('A client of the v1 protocol saved values'),
  'v1.read': says('A client of the v1 protocol read values'),
  'v1.service_key_rotated': says('The service’s key for the v1 protocol was replaced'),
  'keys.rotated': (record) => ['The keys of the database were replaced', ...resealed(record)],
  'audit.chain_started': says('The service began a new part of its record'),
}

function agentOf({ agent_name: name, agent_id: id }: AuditRecord): Part {
  return name === null ? (id === null ? 'an agent' : `an agent (${id})`) : theirs(name)
}

function accountOf(record: AuditRecord, names: Names): Words {
  const id = record.connection_id ?? textOf(record, 'connection_id')
  const known = id === undefined ? undefined : names.account(id)
  if (known)
    return known.label === null ? [theirs(known.provider)] : [theirs(known.label), ' at ', theirs(known.provider)]
  const slug = record.provider ?? textOf(record, 'provider')
  return slug === undefined ? ['an account'] : ['an account at ', theirs(slug)]
}

function provider(record: AuditRecord, what: string): Words {
  return ['The provider ', ...slugOf(record), ` ${what}`]
}

function slugOf(record: AuditRecord): Words {
  return [theirs(textOf(record, 'slug') ?? record.provider ?? textOf(record, 'provider_id') ?? 'unknown')]
}

/** A fact where there is one, after the word that leads to it. */
function naming(record: AuditRecord, fact: string, before = ': '): Words {
  const text = textOf(record, fact)
  return text === undefined ? [] : [before, theirs(text)]
}

function textOf({ detail }: AuditRecord, fact: string): string | undefined {
  const value = detail[fact]
  return typeof value === 'string' ? value : undefined
}

const byDevice = ', with a device’s signature'

function isSigned(receipt: unknown): boolean {
  return typeof receipt === 'object' && receipt !== null && 'signed' in receipt && receipt.signed === true
}

function resealed({ detail }: AuditRecord): Words {
  return typeof detail['resealed'] === 'number' ? [` (${count(detail['resealed'], 'value')})`] : []
}

const connectReasons: Record<string, string> = {
  access_denied: 'access was refused there',
  invalid_state: 'the session ended before the provider answered',
  wrong_user: 'somebody else came back',
  wrong_account: 'it was another account than the one to be renewed',
  invalid_response: 'the provider’s answer could not be trusted',
  token_refused: 'the provider gave no token',
  weak_token: 'the provider’s token is too short to be kept safe',
  provider_unavailable: 'the provider did not answer',
  provider_disabled: 'the provider is switched off here',
  provider_error: 'the provider did not accept the request',
}

function connectReasonOf(record: AuditRecord): string {
  const code = textOf(record, 'code') ?? ''
  return Object.hasOwn(connectReasons, code) ? (connectReasons[code] ?? '') : 'it did not work'
}
