import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HealthReply } from '@sallyport/sdk'
import { concernsOf } from './concerns.ts'

const now = Date.parse('2026-01-01T12:00:00Z')
const empty = { waiting: 0, due: 0, oldest_due_at: null }
const well: HealthReply = {
  version: '1.0.0',
  started_at: '2026-01-01T00:00:00Z',
  workers: 1,
  database: { engine: 'sqlite', migration: 7, newest_migration: 7 },
  outboxes: { callbacks: empty, pushes: empty },
  connections: { needs_reauth: 0 },
  providers: { pending_credentials: 0 },
  audit: { last_head: null },
  push: { web: true, apns: false, fcm: false },
  findings: [{ what: 'settings', level: 'well', words: 'valid' }],
}

const told = (changes: Partial<HealthReply>) =>
  concernsOf({ ...well, ...changes }, now).map(({ tone, what, words }) => `${tone} ${what}: ${words}`)

test('a healthy service has no concerns', () => {
  assert.deepEqual(told({}), [])
})

test('errors come before notices', () => {
  const findings: HealthReply['findings'] = [
    { what: 'legacy v1', level: 'warning', words: 'anyone may register' },
    { what: 'TLS', level: 'wrong', words: 'it expired' },
  ]
  const database = { ...well.database, migration: 5 }
  assert.deepEqual(told({ findings, database, providers: { pending_credentials: 1 } }), [
    'bad TLS: it expired',
    'bad database: its schema is at migration 5 of 7; restart the service to migrate it',
    'warn legacy v1: anyone may register',
    'warn providers: 1 needs credentials',
  ])
})

test('a database schema of a newer version is a concern', () => {
  const [one] = told({ database: { ...well.database, migration: 8 } })
  assert.match(one ?? '', /a newer version has migrated it$/)
})

test('overdue deliveries are a concern only after a while', () => {
  const due = (at: string) =>
    told({ outboxes: { callbacks: { waiting: 9, due: 3, oldest_due_at: at }, pushes: empty } })
  assert.deepEqual(due('2026-01-01T11:56:00Z'), [])
  assert.deepEqual(due('2026-01-01T11:50:00Z'), ['warn callbacks to agents: 3 are overdue, the oldest by 10 minutes'])
})

test('connections that need reauthorization are a concern', () => {
  assert.deepEqual(told({ connections: { needs_reauth: 2 } }), ['warn accounts: 2 need the user to sign in again'])
})
