import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditEvents, followUps } from '@sallyport/protocol/audit'
import type { AuditRecord } from '@sallyport/sdk'
import { plainText } from '../../ui/words.ts'
import { describeRecord } from './describe-record.ts'

const blank: AuditRecord = {
  audit_id: 'aud_01k9x3v7qmf5v8t2w4y6z8abcd',
  event: 'session.started',
  at: '2026-01-01T00:00:00.000Z',
  request_id: null,
  agent_id: null,
  agent_name: null,
  user_id: null,
  grant_id: null,
  connection_id: null,
  provider: null,
  door: null,
  detail: {},
  outcome: null,
  concluded_at: null,
  result: null,
  hops: [],
}
const names = {
  account: (id: string) => (id === 'con_1' ? { provider: 'Acme', label: 'ada@example.com' } : undefined),
  provider: (slug: string) => (slug === 'acme' ? 'Acme' : undefined),
}

function says(record: Partial<AuditRecord>, text: string): void {
  assert.equal(plainText(describeRecord({ ...blank, ...record }, names)), text)
}

const call: Partial<AuditRecord> = {
  event: 'proxy.attempt',
  agent_id: 'agt_1',
  agent_name: 'Mail helper',
  detail: { method: 'GET', host: 'api.acme.example', path: '/v1/messages', query: [] },
}

test('a call is described by agent, action, host and result', () => {
  const answered = { ...call, outcome: 'answered' as const }
  says({ ...answered, result: { status: 200 } }, 'Mail helper read api.acme.example/v1/messages, answered 200.')
  says(
    { ...answered, result: { status: 404 } },
    'Mail helper tried to read api.acme.example/v1/messages, answered 404.',
  )
  const deleting = { ...answered, detail: { ...call.detail, method: 'DELETE', path: '/' } }
  says({ ...deleting, result: { status: 204 } }, 'Mail helper deleted api.acme.example, answered 204.')
  const odd = { ...answered, detail: { ...call.detail, method: 'toString' } }
  says({ ...odd, result: { status: 200 } }, 'Mail helper called api.acme.example/v1/messages, answered 200.')
})

test('a failed call says why', () => {
  const place = 'api.acme.example/v1/messages'
  const refused = { ...call, event: 'proxy.refused' as const, outcome: 'refused' as const }
  const why = { ...call.detail, code: 'method_not_allowed' }
  says(
    { ...refused, detail: why },
    `Mail helper tried to read ${place}, refused: this method isn’t allowed by the grant.`,
  )
  const many = { code: 'host_not_allowed', count: 1200 }
  says({ ...refused, detail: many }, 'Mail helper was refused 1,200 more times: this host isn’t allowed by the grant.')
  says(
    { ...refused, detail: { code: 'grant_not_found' } },
    'Mail helper tried to call an unknown host, refused: it has no such grant.',
  )
  const failed = { ...call, outcome: 'failed' as const }
  says(
    { ...failed, result: { code: 'upstream_timeout' } },
    `Mail helper tried to read ${place}, failed: the host did not respond in time.`,
  )
  says({ ...failed, result: { code: 'brand_new' } }, `Mail helper tried to read ${place}, failed: brand new.`)
  says({ ...failed, result: null }, `Mail helper tried to read ${place}, failed: unknown reason.`)
  says({ ...call, outcome: 'unknown' }, `Mail helper began to read ${place}; the result is unknown.`)
})

test('a call that asked says what was decided, and that an expired one was not denied', () => {
  const place = 'api.acme.example/v1/messages'
  const posts = { ...call, detail: { ...call.detail, method: 'POST', call_id: 'cal_1' } }
  says({ ...posts, event: 'proxy.held' }, `Mail helper asked you before it would send to ${place}.`)
  says({ ...posts, event: 'proxy.approved' }, `You allowed Mail helper to send to ${place}.`)
  says(
    { ...posts, event: 'proxy.approved', detail: { ...posts.detail, device_id: 'dev_1', repeat_for_seconds: 900 } },
    `You allowed Mail helper to send to ${place}, and again for 15 minutes, signed by a device.`,
  )
  says({ ...posts, event: 'proxy.denied' }, `You didn’t allow Mail helper to send to ${place}.`)
  says(
    { ...posts, event: 'proxy.expired' },
    `Nobody decided in time whether Mail helper may send to ${place}; it was not denied.`,
  )
  says(
    { ...posts, event: 'proxy.cancelled', detail: { ...posts.detail, by: 'agent' } },
    `Mail helper no longer asks to send to ${place}.`,
  )
  says(
    { ...posts, event: 'proxy.cancelled' },
    `The access of Mail helper ended before you decided whether it may send to ${place}.`,
  )
})

test('an account is shown by its label, or by its provider', () => {
  const detail = { connection_id: 'con_1', provider: 'acme' }
  says({ event: 'connection.created', detail }, 'You connected ada@example.com at Acme.')
  says(
    { event: 'connection.created', detail: { ...detail, connection_id: 'con_2' } },
    'You connected an account at Acme.',
  )
  says({ event: 'connection.revoked', detail: { connection_id: 'con_2' } }, 'You disconnected an account.')
  says(
    { event: 'connection.refused', detail: { code: 'access_denied' } },
    'An account was not connected: access was denied at the provider.',
  )
  says(
    { event: 'connection.refused', detail: { code: 'constructor' } },
    'An account was not connected: unknown reason.',
  )
})

test('a decision names the agent and whether a device signed it', () => {
  const about = { agent_id: 'agt_1', agent_name: 'Mail helper' }
  says(
    { ...about, event: 'access_request.created', detail: { provider: 'acme' } },
    'Mail helper requested access to Acme.',
  )
  says(
    { ...about, event: 'access_request.approved', detail: { receipt: { signed: false } } },
    'You granted access to Mail helper.',
  )
  const signed = { receipt: { signed: true } }
  says(
    { ...about, event: 'access_request.approved', detail: signed },
    'You granted access to Mail helper, signed by a device.',
  )
  says(
    { ...about, event: 'access_request.denied', detail: { blocked: true } },
    'You denied access to Mail helper and blocked it.',
  )
  says({ ...about, event: 'grant.revoked', detail: { by: 'user' } }, 'You revoked the access of Mail helper.')
  says({ ...about, event: 'grant.revoked', detail: { by: 'agent' } }, 'Mail helper gave up its access.')
  says({ agent_id: 'agt_2', event: 'agent.blocked' }, 'You blocked an agent (agt_2).')
})

test('every audit event has a sentence, even with missing details', () => {
  const listed = auditEvents.filter((event) => !(followUps as readonly string[]).includes(event))
  for (const event of listed) {
    const words = describeRecord({ ...blank, event: event, detail: { unreadable: '{' } })
    assert.match(plainText(words), /^[A-Z].*\.$/, event)
  }
})

test('text from others is kept apart from ours', () => {
  const named = { ...call, agent_name: '<b>You</b>' }
  const words = describeRecord({ ...blank, ...named, outcome: 'answered', result: { status: 200 } })
  assert.deepEqual(words, [
    { theirs: '<b>You</b>' },
    ' read ',
    { theirs: 'api.acme.example/v1/messages' },
    ', answered 200.',
  ])
})
