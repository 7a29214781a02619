/** Describes audit records in plain language, starting with who did it. */
import type { AuditRecord } from '@sallyport/sdk'
import { count, theirs } from '../../ui/words.ts'
import type { Part, Words } from '../../ui/words.ts'
import { describeCall } from './describe-call.ts'

/** Names for ids in records. */
export interface Names {
  /** The provider and label of an account. */
  account: (connectionId: string) => { provider: string; label: string | null } | undefined
  provider: (slug: string) => string | undefined
}

export const noNames: Names = { account: () => undefined, provider: () => undefined }

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
  'agent.enabled': (_record, who) => [who, ' was enabled again'],
  'agent.blocked': (_record, who) => ['You blocked ', who],
  'agent.unmuted': (_record, who) => ['You unmuted ', who],
  'user.created': says('Your user was created'),
  'user.disabled': says('Your user was disabled'),
  'user.enabled': says('Your user was enabled again'),
  'agents.paused': says('You paused all agents'),
  'agents.resumed': says('You resumed all agents'),
  'service.paused': says('The operator paused all agents'),
  'service.resumed': says('The operator resumed all agents'),
  'identity.linked': (record) => ['A sign-in method was linked to your user', ...naming(record, 'via')],
  'login_token.issued': says('A sign-in link was created for you'),
  'session.started': says('You signed in'),
  'session.revoked': says('One of your sessions was ended'),
  'provider.created': provider('was added'),
  'provider.proposed': (record, who, names) => [who, ' proposed the provider ', providerOf(record, names)],
  'provider.updated': provider('was updated'),
  'provider.credentials_changed': provider('got new credentials'),
  'provider.rediscovered': provider('had its endpoints rediscovered'),
  'provider.enabled': provider('was enabled'),
  'provider.disabled': provider('was disabled'),
  'provider.deleted': provider('was deleted'),
  'connection.created': (record, _who, names) => ['You connected ', ...accountOf(record, names)],
  'connection.renewed': (record, _who, names) => ['You reconnected ', ...accountOf(record, names)],
  'connection.refused': (record) => [`An account was not connected: ${connectReasonOf(record)}`],
  'connection.refreshed': (record, _who, names) => ['The token for ', ...accountOf(record, names), ' was refreshed'],
  'connection.needs_reauth': (record, _who, names) => [
    'Sign in again to ',
    ...accountOf(record, names),
    ': the provider no longer accepts its token',
  ],
  'connection.revoked': (record, _who, names) => ['You disconnected ', ...accountOf(record, names)],
  'connection.revoked_remotely': (record, _who, names) =>
    textOf(record, 'outcome') === 'done'
      ? ['The provider revoked the tokens of ', ...accountOf(record, names), ' too']
      : ['The provider did not revoke the tokens of ', ...accountOf(record, names)],
  'access_request.created': (record, who, names) => [who, ' requested access', ...toProvider(record, names)],
  'access_request.approved': (record, who) => [
    'You granted access to ',
    who,
    isSigned(record.detail['receipt']) ? byDevice : '',
  ],
  'access_request.denied': (record, who) => [
    'You denied access to ',
    who,
    record.detail['blocked'] === true ? ' and blocked it' : '',
    textOf(record, 'device_id') === undefined ? '' : byDevice,
  ],
  'access_request.cancelled': (_record, who) => [who, ' cancelled its request'],
  'grant.changed': (record, who) => [
    record.detail['wider'] === true ? 'You extended the access of ' : 'You narrowed the access of ',
    who,
    record.detail['wider'] === true && isSigned(record.detail['receipt']) ? byDevice : '',
  ],
  'grant.revoked': (record, who) =>
    textOf(record, 'by') === 'agent' ? [who, ' gave up its access'] : ['You revoked the access of ', who],
  'repeat.revoked': (_record, who) => ['From now on, ', who, ' asks again before calls that it could repeat'],
  'tool_key.created': (_record, who) => [who, ' made a key for its tools, which may use its access'],
  'tool_key.revoked': (_record, who) => [who, ' revoked a key of its tools'],
  'pairing_code.issued': says('You created a pairing code'),
  'device.paired': says('A device was paired'),
  'device.enrolled': says('A device was allowed to approve'),
  'device.revoked': says('A device was removed'),
  'device_approval.required': says('You turned on “Approve on device only”'),
  'device_approval.lifted': says('You turned off “Approve on device only”'),
  'device_approval.reset': says('An administrator turned off “Approve on device only” for you'),
  'callback.delivered': (record, who) => [who, ' was notified of your decision', ...naming(record, 'host', ' at ')],
  'callback.failed': (record, who) => [
    who,
    ' could not be notified of your decision',
    ...naming(record, 'host', ' at '),
  ],
  'sandbox.started': (_record, who) => [who, ' started its sandbox'],
  'v1.registered': says('A v1 client registered'),
  'v1.refreshed': says('A v1 client got a new challenge'),
  'v1.key_rotated': says('A v1 client changed its key'),
  'v1.saved': says('A v1 client saved values'),
  'v1.read': says('A v1 client read values'),
  'v1.service_key_rotated': says('The service’s v1 key was rotated'),
  'keys.rotated': (record) => ['The database keys were rotated', ...resealed(record)],
  'audit.chain_started': says('The service started a new audit chain'),
  'database.restored': says('The database was restored from a backup'),
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
  return slug === undefined ? ['an account'] : ['an account at ', theirs(names.provider(slug) ?? slug)]
}

function provider(what: string): Describe {
  return (record, _who, names) => ['The provider ', providerOf(record, names), ` ${what}`]
}

function providerOf(record: AuditRecord, names: Names): Part {
  const slug = textOf(record, 'slug') ?? record.provider ?? textOf(record, 'provider_id') ?? 'unknown'
  return theirs(names.provider(slug) ?? slug)
}

function toProvider(record: AuditRecord, names: Names): Words {
  const slug = textOf(record, 'provider')
  return slug === undefined ? [] : [' to ', theirs(names.provider(slug) ?? slug)]
}

/** A detail of the record after `before`, or nothing if it is missing. */
function naming(record: AuditRecord, fact: string, before = ': '): Words {
  const text = textOf(record, fact)
  return text === undefined ? [] : [before, theirs(text)]
}

function textOf({ detail }: AuditRecord, fact: string): string | undefined {
  const value = detail[fact]
  return typeof value === 'string' ? value : undefined
}

const byDevice = ', signed by a device'

function isSigned(receipt: unknown): boolean {
  return typeof receipt === 'object' && receipt !== null && 'signed' in receipt && receipt.signed === true
}

function resealed({ detail }: AuditRecord): Words {
  return typeof detail['resealed'] === 'number' ? [` (${count(detail['resealed'], 'value')})`] : []
}

const connectReasons: Record<string, string> = {
  access_denied: 'access was denied at the provider',
  invalid_state: 'the attempt expired before the provider responded',
  wrong_user: 'another user completed it',
  wrong_account: 'you signed in with a different account',
  invalid_response: 'the provider’s response was invalid',
  token_refused: 'the provider did not issue a token',
  weak_token: 'the provider’s token is too short to redact reliably',
  provider_unavailable: 'the provider did not respond',
  provider_disabled: 'the provider is disabled',
  provider_error: 'the provider rejected the request',
}

function connectReasonOf(record: AuditRecord): string {
  const code = textOf(record, 'code') ?? ''
  return Object.hasOwn(connectReasons, code) ? (connectReasons[code] ?? '') : 'unknown reason'
}
