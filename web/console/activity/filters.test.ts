import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, filtersIn, queryOf, seriesQueryOf, sinceOf } from './filters.ts'

const now = Date.parse('2026-01-31T12:00:00Z')

test('filters round-trip through the URL', () => {
  for (const address of [
    '/activity',
    '/activity?span=day',
    '/activity?span=all&kind=proxy.attempt&outcome=failed&q=api.example+POST&agent_id=agt_1&grant_id=grt_1',
    '/activity?connection_id=con_1&provider=acme',
  ]) {
    assert.equal(addressOf(filtersIn(address.slice('/activity'.length))), address)
  }
})

test('unknown filters in the URL are ignored', () => {
  assert.deepEqual(filtersIn('?span=century&kind=toString&outcome=__proto__&q=%20&x=1'), { span: 'week' })
  assert.equal(filtersIn(`?q=${'x'.repeat(1000)}`).q?.length, 100)
})

test('the filters are sent to the service', () => {
  const filters = filtersIn('?span=day&kind=proxy.refused&q=mail&grant_id=grt_1')
  assert.deepEqual(queryOf(filters, now), {
    grant_id: 'grt_1',
    q: 'mail',
    event: 'proxy.refused',
    since: '2026-01-30T12:00:00.000Z',
  })
  assert.equal(sinceOf('all', now), undefined)
})

test('the chart has the same filters, and is not there if they leave no calls', () => {
  const query = seriesQueryOf(filtersIn('?kind=proxy.refused&q=mail&outcome=refused&agent_id=agt_1'))
  assert.deepEqual(query, { event: 'proxy.refused', q: 'mail', outcome: 'refused', agent_id: 'agt_1' })
  assert.deepEqual(seriesQueryOf(filtersIn('')), {})
  assert.equal(seriesQueryOf(filtersIn('?kind=device.paired')), undefined)
  assert.equal(seriesQueryOf(filtersIn('?span=all')), undefined)
})
