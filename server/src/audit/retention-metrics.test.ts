import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureRetention } from './retention.ts'
import { createMetrics } from '../platform/operations/metrics.ts'

test('removed records are added up, and the backlog is that of the last run', async () => {
  const metrics = createMetrics()
  const measure = measureRetention(metrics)
  for (const result of [
    { removed: 40, left: 9 },
    { removed: 2, left: 7 },
  ]) {
    measure(result)
  }
  const text = await metrics.text()
  assert.match(text, /^sallyport_audit_retention_removed_total 42$/m)
  assert.match(text, /^sallyport_audit_retention_backlog 7$/m)
})

test('over several processes removals are added up, and the backlog is the maximum', async () => {
  const processes = [3, 4].map((left) => {
    const metrics = createMetrics()
    measureRetention(metrics)({ removed: 5, left })
    return metrics
  })
  const all = createMetrics(() => Promise.all(processes.map(({ registry }) => registry.getMetricsAsJSON())))
  const text = await all.text()
  assert.match(text, /^sallyport_audit_retention_removed_total 10$/m)
  assert.match(text, /^sallyport_audit_retention_backlog 4$/m)
})
