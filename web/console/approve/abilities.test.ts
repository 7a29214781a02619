import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ability } from '@sallyport/protocol/abilities'
import { canDo, cannotDo } from './abilities.ts'
import type { Reach } from './abilities.ts'

const host = 'mail.acme.example'
const mail = { host, path: '/mail' }
const send = { host, path: '/mail/*/send', only: true }
const abilities: Ability[] = [
  { does: 'read', what: 'your mail', access: 'read', ...mail, scopes: ['mail', 'mail.read'] },
  { does: 'send', what: 'mail as you', access: 'write', ...send },
  { does: 'change', what: 'your mail', access: 'write', ...mail, scopes: ['mail'] },
  { does: 'delete', what: 'your mail', access: 'destructive', ...mail },
  { does: 'read', what: 'your calendars', access: 'read', host, path: '/calendars' },
]
const anything: Reach = { hosts: [host], methods: null, paths: null, maxAccess: null }

function says(reach: Partial<Reach>, scopes?: string[], known = abilities): string {
  const all = { ...anything, ...reach }
  const { text, joint, such } = canDo(all, { abilities: known, ...(scopes && { scopes }) })
  const end = joint === 'in' ? ` in it${such}` : ''
  return [text + end, cannotDo(all, { abilities: known })].filter(Boolean).join('. ')
}

function saysOfUnknown(reach: Partial<Reach>): string {
  return says(reach, undefined, [])
}

test('it is said in the provider’s own terms', () => {
  const paths = ['/mail/me/messages', '/mail/me/send']
  assert.equal(says({ paths, methods: ['GET'] }), 'read your mail. It can’t change or delete anything.')
  assert.equal(says({ paths, methods: ['GET', 'POST'] }), 'read and change your mail and send mail as you')
  assert.equal(says({ paths: ['/mail/me/send'], methods: ['POST'] }), 'send mail as you. It can’t delete anything.')
  assert.equal(says({ paths: ['/mail'] }), 'read, change, and delete your mail and send mail as you')
  assert.equal(
    says({ paths: ['/mail', '/calendars'], methods: ['GET'] }),
    'read your mail and calendars. It can’t change or delete anything.',
  )
})

test('what an account has no scope for is left out', () => {
  const paths = ['/mail']
  assert.equal(says({ paths, methods: ['GET', 'POST'] }, ['mail.read']), 'read your mail and send mail as you')
  assert.equal(says({ paths, methods: ['GET', 'PATCH'] }, ['mail']), 'read and change your mail and send mail as you')
})

test('terms that reach further than what is known are described in general words', () => {
  const such = ' in it, such as mail and calendars'
  assert.equal(says({}), `read, change, and delete anything${such}`)
  assert.equal(says({ paths: ['/mail', '/other'] }), 'read, change, and delete data in it')
  assert.equal(says({ paths: ['/calendars'] }), 'read, change, and delete data in it')
  assert.match(says({ hosts: [host, 'files.acme.example'], methods: ['GET'] }), /^read anything in it/)
  assert.match(says({ hosts: ['*.acme.example'], paths: ['/mail'] }), / data in it$/)
  assert.equal(saysOfUnknown({}), 'read, change, and delete anything in it')
})

test('delete is never said without the method DELETE, and ruled out only where the service refuses it', () => {
  const verbs = (reach: Partial<Reach>) => saysOfUnknown(reach).replace(' anything in it', '')
  assert.equal(verbs({ methods: ['GET', 'POST'] }), 'read and change')
  assert.equal(verbs({ methods: ['GET', 'DELETE'] }), 'read and delete')
  assert.equal(verbs({ methods: ['PURGE'] }), 'change')
  assert.equal(verbs({ methods: null, maxAccess: 'write' }), 'read and change. It can’t delete anything.')
  assert.equal(verbs({ methods: ['POST'], maxAccess: 'read' }), 'read. It can’t change or delete anything.')
  assert.equal(verbs({ methods: ['POST'], maxAccess: 'write' }), 'change. It can’t delete anything.')
  for (const methods of [['GET'], ['POST'], ['GET', 'POST', 'PATCH', 'PUT']]) {
    for (const paths of [null, ['/mail'], ['/mail/me/send'], ['/x']]) {
      const text = says({ methods, paths }) + saysOfUnknown({ methods, paths })
      assert.doesNotMatch(text.replace(/It can’t [^.]*\./g, ''), /delete/, `${methods.join()} ${paths?.join()}`)
    }
  }
})

test('a path that only looks like a known one is not described as it', () => {
  for (const path of ['/mailing', '/mail2/me/send', '/x/mail']) {
    assert.match(says({ paths: [path], methods: ['POST'] }), /^change data in it$/)
  }
  // Broader than what does nothing else.
  assert.doesNotMatch(says({ paths: ['/mail/me'], methods: ['POST'] }), /can’t delete/)
})
