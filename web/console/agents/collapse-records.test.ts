import assert from 'node:assert/strict'
import test from 'node:test'
import type { AuditRecord } from '@sallyport/sdk'
import { collapseRecords } from './collapse-records.ts'

const call = (path: string, more: object = {}) =>
  ({
    ...{ audit_id: `aud_${path}`, event: 'proxy.attempt', at: '2026-11-15T12:00:00.000Z', request_id: null },
    ...{ agent_id: 'agt_1', user_id: 'usr_1', grant_id: 'grt_1', connection_id: 'con_1', provider: 'acme' },
    ...{ agent_name: 'Mail helper', provider_name: 'Acme', outcome: 'answered', result: { status: 200 } },
    ...{ detail: { method: 'GET', host: 'api.acme.example', path }, ...more },
  }) as unknown as AuditRecord

const shown = (records: AuditRecord[]) =>
  collapseRecords(records).map(({ record, count }) => [record.detail['path'], count])

test('repeats are one line with their number, in the order of the newest', () => {
  assert.deepEqual(shown([call('/b'), call('/a'), call('/b'), call('/b')]), [
    ['/b', 3],
    ['/a', 1],
  ])
})

test('calls to different ids are one line, without the ids', () => {
  assert.deepEqual(shown([call('/mail/1'), call('/mail/2'), call('/mail/18f2c0ab99d1e2f3')]), [['/mail/…', 3]])
  assert.deepEqual(shown([call('/mail/7'), call('/mail/7')]), [['/mail/7', 2]])
  assert.deepEqual(shown([call('/messages'), call('/settings')]), [
    ['/messages', 1],
    ['/settings', 1],
  ])
})

test('what came of a call, its method and its account make a difference', () => {
  const one = call('/a')
  const others = [
    call('/a', { result: { status: 404 } }),
    call('/a', { outcome: 'failed', result: { code: 'upstream_timeout' } }),
    call('/a', { connection_id: 'con_2' }),
    call('/a', { detail: { ...one.detail, method: 'POST' } }),
    call('/a', { event: 'proxy.refused', outcome: 'refused', result: null, detail: { ...one.detail, code: 'paused' } }),
  ]
  assert.equal(collapseRecords([one, ...others]).length, 6)
})

test('a record of many refusals counts as many', () => {
  const refused = { event: 'proxy.refused', outcome: 'refused', result: null } as const
  const many = call('/a', { ...refused, detail: { code: 'rate_limited', count: 40 } })
  assert.deepEqual(collapseRecords([many, many])[0]?.count, 80)
})
