import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountIn, decisionOf, faultAt, firstChoices } from './terms.ts'
import type { Account, Asked, Choices } from './terms.ts'

const now = Date.parse('2026-11-16T10:00:00.000Z')
const anywhere = { api_host: null }
const ada: Account = { connection_id: 'con_ada', account_label: 'ada@example.com', status: 'active', ...anywhere }
const grace: Account = { connection_id: 'con_grace', account_label: 'grace@example.com', status: 'active', ...anywhere }
const stale: Account = { connection_id: 'con_old', account_label: null, status: 'needs_reauth', ...anywhere }

function asks(wish: Partial<Asked> = {}): Asked {
  const apiHosts = ['api.acme.example', '*.acme.example']
  return { hosts: null, api_hosts: apiHosts, methods: null, paths: null, max_calls: null, ...wish }
}

function decide(asked: Asked, change: Partial<Choices> = {}, accounts = [ada]) {
  return decisionOf(asked, { ...firstChoices(asked, null), ...change }, accounts, now)
}

function refuses(asked: Asked, change: Partial<Choices>, name: keyof Choices, text: RegExp) {
  const { faults, decision } = decide(asked, change)
  assert.equal(decision, undefined)
  assert.deepEqual(
    faults.map((fault) => fault.name),
    [name],
  )
  assert.match(faults[0]?.text ?? '', text)
}

/** Which calls ask by default. */
const recommended = { mode: 'ask_writes', exceptions: [] }

test('the defaults are no wildcard, one day, and a question before each change', () => {
  assert.deepEqual(decide(asks()).decision, {
    connection_id: 'con_ada',
    allowed_hosts: ['api.acme.example'],
    expires_at: '2026-11-17T10:00:00.000Z',
    ...recommended,
  })
})

test('explicitly requested terms are preselected, and nothing more', () => {
  const asked = asks({ hosts: ['*.acme.example'], methods: ['GET', 'DELETE'], paths: ['/v1'], max_calls: 5 })
  assert.deepEqual(decide(asked).decision, {
    connection_id: 'con_ada',
    allowed_hosts: ['*.acme.example'],
    max_calls: 5,
    expires_at: '2026-11-17T10:00:00.000Z',
    ...recommended,
  })
})

test('read-only limits what calls do and not their methods, so that it works with GraphQL', () => {
  const { decision } = decide(asks(), { permissions: 'read' })
  assert.deepEqual([decision?.max_access, decision?.allowed_methods], ['read', undefined])
  const named = decide(asks({ methods: ['POST'] }), { permissions: 'write', mode: 'allow_all' }).decision
  assert.deepEqual([named?.max_access, named?.allowed_methods, named?.mode], ['write', undefined, 'allow_all'])
  assert.equal(decide(asks()).decision?.max_access, undefined)
})

test('an exception has paths, and methods if they are named', () => {
  const rule = { id: 1, action: 'deny' as const, paths: '/admin\n /billing/*', methods: 'post, Delete' }
  const any = { id: 2, action: 'allow' as const, paths: '/search', methods: ' ' }
  assert.deepEqual(decide(asks(), { exceptions: [rule, any] }).decision?.exceptions, [
    { paths: ['/admin', '/billing/*'], methods: ['POST', 'DELETE'], action: 'deny' },
    { paths: ['/search'], action: 'allow' },
  ])
  const refusesRule = (change: Partial<typeof rule>, text: RegExp) => {
    refuses(asks(), { exceptions: [any, { ...rule, ...change }] }, 'exceptions', text)
  }
  refusesRule({ paths: ' \n' }, /Enter a path/)
  refusesRule({ paths: 'admin' }, /must start with a slash: admin/)
  refusesRule({ methods: 'POST;' }, /not a method: POST;/)
})

test('methods can be chosen one by one among those requested', () => {
  const some = (asked: Asked, someMethods: string[]) =>
    decide(asked, { permissions: 'some', someMethods }).decision?.allowed_methods
  assert.deepEqual(some(asks(), ['DELETE', 'GET']), ['GET', 'DELETE'])
  assert.deepEqual(some(asks({ methods: ['GET', 'POST'] }), ['POST', 'DELETE']), ['POST'])
  assert.equal(decide(asks(), { permissions: 'asked' }).decision?.allowed_methods, undefined)
  refuses(asks(), { permissions: 'some', someMethods: [] }, 'someMethods', /at least one method/)
})

test('a host under a requested wildcard can replace it; others cannot', () => {
  const hosts = (hostsBelow: string) => decide(asks(), { hosts: [], hostsBelow }).decision?.allowed_hosts
  assert.deepEqual(hosts('Mail.acme.example  files.acme.example mail.acme.example'), [
    'mail.acme.example',
    'files.acme.example',
  ])
  refuses(asks(), { hosts: [] }, 'hosts', /at least one host/)
  for (const host of ['acme.example', 'evilacme.example', 'acme.example.evil.example', 'https://x.acme.example/']) {
    refuses(asks(), { hosts: [], hostsBelow: host }, 'hostsBelow', /did not ask for this host/)
  }
})

test('an account with a host of its own is allowed at that host alone, if the agent asked for it', () => {
  const shop = { ...ada, api_host: 'ada.myshopify.com' }
  const hosts = (asked: Asked, change: Partial<Choices> = {}) => decide(asked, change, [shop])
  const all = asks({ api_hosts: ['*.myshopify.com'] })
  assert.deepEqual(hosts(all).decision?.allowed_hosts, ['ada.myshopify.com'])
  const others = { hosts: ['*.myshopify.com'], hostsBelow: 'eve.myshopify.com' }
  assert.deepEqual(hosts(all, others).decision?.allowed_hosts, ['ada.myshopify.com'])
  const own = asks({ hosts: ['ada.myshopify.com', 'eve.myshopify.com'] })
  assert.deepEqual(hosts(own).decision?.allowed_hosts, ['ada.myshopify.com'])
  for (const strange of [asks({ hosts: ['eve.myshopify.com'] }), asks()]) {
    assert.match(hosts(strange).faults[0]?.text ?? '', /did not ask for this account’s host: ada\.myshopify\.com/)
  }
})

test('paths must be under the requested ones, by whole segments', () => {
  const asked = asks({ paths: ['/v1/mail', '/users/*/labels'] })
  const paths = (somePaths: string) => decide(asked, { paths: 'some', somePaths }).decision?.allowed_paths
  assert.deepEqual(paths('/v1/mail/1\n\n /users/7/labels/x '), ['/v1/mail/1', '/users/7/labels/x'])
  for (const path of ['/', '/v1', '/v1/mailing', '/users/labels']) {
    refuses(asked, { paths: 'some', somePaths: path }, 'somePaths', /did not ask for this path/)
  }
  refuses(asked, { paths: 'some', somePaths: ' ' }, 'somePaths', /at least one path/)
  refuses(asks(), { paths: 'some', somePaths: 'v1' }, 'somePaths', /must start with a slash/)
  for (const path of ['/mail/../x', '/mail//x', '/a b', '/a?b', '/%2e%2e/x', '/a*']) {
    refuses(asks(), { paths: 'some', somePaths: path }, 'somePaths', /^A (?:path|\*) /)
  }
  assert.deepEqual(decide(asks(), { paths: 'some', somePaths: '/{credential}/sendMessage' }).faults, [])
})

test("it expires at the chosen time in the user's time zone, never in the past", () => {
  const end = (change: Partial<Choices>) => decide(asks(), change).decision?.expires_at
  assert.equal(end({ lasting: 'hour' }), '2026-11-16T11:00:00.000Z')
  assert.equal(end({ lasting: 'month' }), '2026-12-16T10:00:00.000Z')
  assert.equal(end({ lasting: 'revoked' }), undefined)
  assert.equal(end({ lasting: 'date', date: '2027-01-01T12:30' }), new Date('2027-01-01T12:30').toISOString())
  refuses(asks(), { lasting: 'date' }, 'date', /Choose an expiry/)
  refuses(asks(), { lasting: 'date', date: '2026-01-01T00:00' }, 'date', /has passed/)
})

test('the call limit is a whole number, no more than requested', () => {
  const calls = (most: number | null, text: string) =>
    decide(asks({ max_calls: most }), { calls: text }).decision?.max_calls
  assert.deepEqual([calls(null, ''), calls(null, '7'), calls(100, ' 5 '), calls(100, '')], [undefined, 7, 5, undefined])
  for (const text of ['0', '-1', '1.5', '1e3', 'many', '101', '٣']) {
    refuses(asks({ max_calls: 100 }), { calls: text }, 'calls', /whole number from 1 to 100\./)
  }
})

test('the account is an active one: the only one, or the chosen one', () => {
  const choices = firstChoices(asks(), 'con_grace')
  assert.equal(accountIn(choices, [ada, grace]), grace)
  assert.equal(accountIn(choices, [ada, stale]), ada)
  assert.equal(accountIn({ ...choices, account: 'con_old' }, [ada, grace, stale]), undefined)
  assert.equal(decide(asks(), {}, [stale]).faults[0]?.name, 'account')
  assert.equal(decide(asks(), {}, [ada, grace]).faults[0]?.name, 'account')
})

test('everything that is wrong is told at once, each at its field', () => {
  const rules = [
    { id: 1, action: 'deny' as const, paths: '/a/../b', methods: '' },
    { id: 2, action: 'deny' as const, paths: '/a', methods: '' },
    { id: 3, action: 'deny' as const, paths: '', methods: '' },
  ]
  const change = { hosts: [], paths: 'some' as const, somePaths: '', calls: '0', exceptions: rules }
  const { faults } = decide(asks(), { ...change, lasting: 'date', permissions: 'some', someMethods: [] }, [ada, grace])
  assert.deepEqual(
    faults.map(({ name, at }) => (at === undefined ? name : `${name}.${at}`)),
    ['account', 'hosts', 'someMethods', 'somePaths', 'date', 'calls', 'exceptions.0', 'exceptions.2'],
  )
})

test("the service's errors stand at the field of their member, if that is shown", () => {
  const first = firstChoices(asks(), null)
  const at = (member: string | undefined, change: Partial<Choices> = {}) =>
    faultAt(member, 'No', { ...first, ...change })
  assert.deepEqual(at('max_calls'), { name: 'calls', text: 'No' })
  assert.deepEqual(at('exceptions.1.paths.0'), { name: 'exceptions', at: 1, part: 'exceptionPaths', text: 'No' })
  assert.deepEqual(at('allowed_paths.2', { paths: 'some' })?.name, 'somePaths')
  for (const member of ['allowed_paths.2', 'expires_at', 'allowed_methods', 'other', undefined]) {
    assert.equal(at(member), undefined)
  }
})
