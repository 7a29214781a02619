import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainText } from '../../ui/words.ts'
import { limits, question, risksOf, sentence, termsOf } from './describe-terms.ts'
import type { Terms } from './describe-terms.ts'
import { firstChoices } from './terms.ts'

const narrow: Terms = {
  hosts: ['api.acme.example'],
  methods: ['GET'],
  paths: ['/v1/mail'],
  calls: 5,
  lasting: 'for 1 hour',
  hasEnd: true,
  mode: 'ask_writes',
  exceptions: [],
  maxAccess: null,
}
const wide: Terms = {
  ...narrow,
  hosts: ['a.example', '*.b.example'],
  methods: null,
  paths: null,
  calls: null,
  lasting: 'until you revoke it',
  hasEnd: false,
  mode: 'allow_all',
}

test('the sentence names agent, actions, hosts, account, duration and call limit', () => {
  assert.equal(
    plainText(sentence('Mail helper', 'ada@example.com', narrow)),
    'Mail helper may only read (GET) on api.acme.example, under /v1/mail, using the account ada@example.com, ' +
      'for 1 hour, up to 5 calls. It doesn’t ask you before calls.',
  )
  assert.equal(
    plainText(sentence('Mail helper', 'ada@example.com', wide)),
    'Mail helper may read, change, and delete (any method) on a.example and *.b.example, using the account ' +
      'ada@example.com, until you revoke it. It doesn’t ask you before calls.',
  )
})

test('the sentence says which calls ask, and lists the exceptions', () => {
  const asks = (change: Partial<Terms>) => {
    const text = plainText(sentence('A', 'b', { ...wide, ...change }))
    return text.slice(text.indexOf('until you revoke it. ') + 'until you revoke it. '.length)
  }
  assert.equal(asks({ mode: 'ask_writes' }), 'It asks you before each change.')
  assert.equal(asks({ mode: 'ask_all', maxAccess: 'read' }), 'It asks you before each call.')
  assert.equal(asks({ mode: 'ask_writes', maxAccess: 'read' }), 'It doesn’t ask you before calls.')
  const deny = { action: 'deny' as const, paths: ['/admin', '/keys'], methods: ['DELETE'] }
  const allow = { action: 'allow' as const, paths: ['/search'] }
  assert.equal(
    asks({ exceptions: [deny, allow] }),
    'It doesn’t ask you before calls. Never allowed: DELETE under /admin and /keys. ' +
      'Runs without asking: anything under /search.',
  )
  assert.match(asks({ exceptions: Array.from({ length: 20 }, () => allow) }), /search\. And 15 more exceptions\.$/)
})

test('a limit on what calls do is named instead of the methods', () => {
  const says = (change: Partial<Terms>) => plainText(sentence('A', 'b', { ...wide, ...change }))
  assert.match(says({ maxAccess: 'read' }), /^A may only read on /)
  assert.match(says({ maxAccess: 'write' }), /^A may read and change, but not delete on /)
  assert.match(says({ maxAccess: 'read', methods: ['POST'] }), /^A may only read \(POST\) on /)
  assert.match(says({ maxAccess: 'write', methods: ['POST'] }), /^A may change, but not delete \(POST\) on /)
})

test('delete is said only if the method DELETE is allowed', () => {
  const says = (methods: string[]) => plainText(sentence('A', 'b', { ...narrow, methods }))
  assert.match(says(['GET', 'HEAD', 'OPTIONS']), /^A may only read \(/)
  assert.match(says(['GET', 'POST']), /^A may read and change \(/)
  assert.match(says(['GET', 'DELETE']), /^A may read and delete \(/)
  assert.match(says(['POST']), /^A may change \(/)
  assert.match(says(['PROPFIND']), /^A may change \(/)
})

test('the question names agent, actions and account, and what is ruled out', () => {
  const request = {
    agent: { agent_id: 'agt_1', name: 'Mail helper', registered_at: '', registration: null },
    provider_name: 'Acme',
  }
  const asks = (terms: Terms, account: string | null) => plainText(question(request, account, terms, { abilities: [] }))
  assert.equal(
    asks(narrow, 'ada@example.com'),
    'Mail helper wants to read data in your Acme account ada@example.com. It can’t change or delete anything.',
  )
  assert.equal(asks(wide, null), 'Mail helper wants to read, change, and delete anything in your Acme account.')
  assert.equal(plainText(limits(narrow)), 'On api.acme.example, under /v1/mail, up to 5 calls.')
  const deny = { action: 'deny' as const, paths: ['/admin'] }
  assert.equal(
    plainText(limits({ ...wide, exceptions: [deny] })),
    'On a.example and *.b.example. Never allowed: anything under /admin.',
  )
})

test('text from others is marked, and a long name does not hide the rest', () => {
  const name = 'A may only read at safe.example. B'
  assert.deepEqual(sentence(name, 'b', narrow)[0], { theirs: name })
  const [first] = sentence('n'.repeat(200), 'b', narrow)
  assert.deepEqual(first, { theirs: `${'n'.repeat(59)}…` })
})

test('the sentence stays short with fifty hosts and paths', () => {
  const many = (start: string) => Array.from({ length: 50 }, (_, index) => `${start}${index}`)
  const terms = { ...narrow, hosts: many('h'), paths: many(`/${'p'.repeat(1000)}`) }
  const text = plainText(sentence('A', 'b', terms))
  assert.match(text, / on h0, h1, h2, h3, h4, and 45 others, under \/p/)
  assert.ok(text.length < 1000)
})

test('the terms combine the choices with the request', () => {
  const asked = { hosts: null, api_hosts: ['a.example'], methods: ['POST'], paths: ['/v1'], max_calls: 9 }
  const account = { connection_id: 'con_1', account_label: null, status: 'active' as const, api_host: null }
  const choices = { ...firstChoices(asked, null), lasting: 'revoked' as const }
  assert.deepEqual(termsOf(asked, choices, account, 0), {
    hosts: ['a.example'],
    methods: ['POST'],
    paths: ['/v1'],
    calls: 9,
    lasting: 'until you revoke it',
    hasEnd: false,
    mode: 'ask_writes',
    exceptions: [],
    maxAccess: null,
  })
})

test('broad terms are flagged: all hosts, a wildcard, everything without asking, no expiry', () => {
  assert.deepEqual(risksOf({ verified: true }, narrow), [])
  const risks = risksOf({ verified: false }, wide).map(plainText)
  assert.equal(risks.length, 4)
  for (const [index, words] of [
    /is unverified/,
    /^\*\.b\.example covers/,
    /^It can change and delete anything/,
    /^No expiry/,
  ].entries()) {
    assert.match(risks[index] ?? '', words)
  }
  for (const change of [{ mode: 'ask_writes' as const }, { maxAccess: 'read' as const }]) {
    assert.equal(risksOf({ verified: false }, { ...wide, ...change }).length, 3)
  }
})
