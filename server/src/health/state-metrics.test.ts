import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startAccessTest } from '../../testkit/access-requests.ts'
import { startService } from '../../testkit/service.ts'

onBothDatabases('metrics', (engine) => {
  test('have the version, the queues, and connections that need a sign-in', async (t) => {
    const service = await startAccessTest(t, engine)
    const { asked, approve, database } = service
    const callback_url = 'https://receiver.invalid/hook'
    await approve(await asked({ callback_url }))
    await service.app.jobsEnded()
    await database.queries.updateTable('connections').set({ status: 'needs_reauth' }).execute()
    const text = await service.app.metrics.text()
    assert.match(
      text,
      new RegExp(`^sallyport_build_info\\{version="\\d+\\.\\d+\\.\\d+\\S*",database="${engine}"\\} 1$`, 'm'),
    )
    assert.match(text, /^sallyport_callbacks_waiting 1$/m)
    assert.match(text, /^sallyport_pushes_waiting \d+$/m)
    assert.match(text, /^sallyport_connections_need_sign_in [1-9]$/m)
    assert.match(text, /^sallyport_clock_offset_seconds 0$/m)
    if (engine === 'sqlite') assert.match(text, /^sallyport_disk_free_bytes [1-9]\d*$/m)
    else assert.match(text, /^sallyport_database_waiting 0$/m)
  })

  test('work without a database, except for its figures', async (t) => {
    const service = await startService(t, engine)
    await service.database.close()
    const text = await service.app.metrics.text()
    assert.match(text, /^sallyport_build_info\{/m)
    assert.doesNotMatch(text, /^sallyport_(?:callbacks_waiting|pushes_waiting|connections_need_sign_in) /m)
  })
})

/** As the library keeps it. */
interface Registered {
  name: string
  help: string
  type: string
  labelNames: string[]
}

/** One row a metric: name, kind, labels, meaning. */
function documented(): string[] {
  const text = readFileSync(resolve(import.meta.dirname, '../../../docs/operating.md'), 'utf8')
  return [...text.matchAll(/^\| `(sallyport_\w+)` +\|(.*)\|(.*)\|(.*)\|$/gm)].map(
    ([, name, kind = '', labels = '', help = '']) =>
      [name, kind.trim(), labels.replaceAll('`', '').trim(), help.trim()].join(' | '),
  )
}

test('docs/operating.md lists every metric, with its kind, labels and meaning', async (t) => {
  const printed = new Set<string>()
  for (const engine of ['sqlite', 'postgres'] as const) {
    // Some are of the export to a collector.
    const { app } = await startService(t, engine, { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://127.0.0.1:9' })
    await app.metrics.text()
    for (const metric of app.metrics.registry.getMetricsAsArray()) {
      const { name, help, type, labelNames } = metric as unknown as Registered
      if (!/^(?:process|nodejs)_/.test(name)) printed.add([name, type, labelNames.join(', '), help].join(' | '))
    }
  }
  assert.deepEqual(documented(), [...printed].sort())
})
