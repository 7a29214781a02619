import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditRecord } from '@sallyport/sdk'
import { noNames } from './describe-record.ts'
import { daysOf } from './runs.ts'

const noon = new Date(2026, 0, 5, 12).getTime()

function call(id: string, changes: Partial<AuditRecord> = {}, at = noon): AuditRecord {
  return {
    ...{ audit_id: id, event: 'proxy.attempt', at: new Date(at).toISOString(), request_id: null, agent_id: 'agt_1' },
    ...{
      agent_name: 'Mail helper',
      user_id: null,
      grant_id: 'grt_1',
      connection_id: 'con_1',
      provider: null,
      door: null,
    },
    ...{ detail: { method: 'GET', host: 'api.example', path: '/x' }, outcome: 'answered', concluded_at: null },
    ...{ result: { status: 200 }, hops: [] },
    ...changes,
  }
}

function shape(records: AuditRecord[]): string[][] {
  return daysOf(records, noNames).map(({ runs }) => runs.map((run) => run.records.map((one) => one.audit_id).join('')))
}

test('records in a row that read the same are one line', () => {
  assert.deepEqual(shape([call('d'), call('c'), call('b'), call('a')]), [['dcba']])
  const other = call('b', { result: { status: 404 } })
  assert.deepEqual(shape([call('d'), call('c'), other, call('a')]), [['dc', 'b', 'a']])
  assert.deepEqual(shape([]), [])
})

test('those of another agent, account or grant are not, nor those of another day', () => {
  for (const changes of [{ agent_id: 'agt_2' }, { connection_id: 'con_2' }, { grant_id: 'grt_2' }]) {
    assert.deepEqual(shape([call('b'), call('a', changes)]), [['b', 'a']])
  }
  const midnight = new Date(2026, 0, 5).getTime()
  assert.deepEqual(shape([call('b', {}, midnight), call('a', {}, midnight - 1)]), [['b'], ['a']])
})
