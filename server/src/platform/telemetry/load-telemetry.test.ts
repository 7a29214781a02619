import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../..')

test('telemetry is loaded only where a collector is set', () => {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  const loaders = files.flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    const imports = text.matchAll(
      /^(import (?!type )[^']*|.*\bimport\()'[^']*\/(telemetry|request-spans|exporter|otlp)\.ts'/gm,
    )
    return [...imports].map(([line]) => `${path}: ${line.trim()}`)
  })
  const folder = 'platform/telemetry'
  assert.deepEqual(
    loaders.filter((line) => !line.startsWith(`${folder}/telemetry.ts: `)),
    [`${folder}/load-telemetry.ts: const { startTelemetry } = await import('./telemetry.ts'`],
  )
})
