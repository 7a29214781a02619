/** The dashboard and the alert rules ask for metrics, labels and values that the service has. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { errorCodes } from '@sallyport/protocol/errors'
import { auditOutcomes } from '@sallyport/protocol/audit'
import { parse } from 'yaml'
import { startService } from '../testkit/service.ts'

const root = resolve(import.meta.dirname, '../..')
const textOf = (path: string) => readFileSync(resolve(root, path), 'utf8')

const { groups } = parse(textOf('deploy/monitoring/alerts.yaml')) as {
  groups: { rules: { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string } }[] }[]
}
const rules = groups.flatMap((group) => group.rules)
const { panels } = JSON.parse(textOf('deploy/monitoring/dashboard.json')) as {
  panels: { id: number; title: string; targets: { expr: string; legendFormat: string }[] }[]
}
const targets = panels.flatMap((panel) => panel.targets)
const [, objectives = ''] = /^## Service level objectives$([^]*?)^## /m.exec(textOf('docs/runbook.md')) ?? []
const ofObjectives = [...objectives.matchAll(/^ {2}`(.+)`$/gm)].map(([, query = '']) => query)
const queries = [...[...rules, ...targets].map(({ expr }) => expr), ...ofObjectives]

/** Registered only with several workers, by the first process. */
const ofWorkers: [string, string[]][] = [
  ['sallyport_workers_silent', []],
  ['sallyport_workers_replaced', []],
]
/** Prometheus's own labels. */
const everywhere = ['job', 'instance', 'le']
const values: Record<string, readonly string[]> = {
  code: errorCodes,
  status_class: ['2xx', '3xx', '4xx', '5xx'],
  outcome: [...auditOutcomes, 'refreshed', 'unavailable', 'refused'],
  job: ['sallyport'],
  part: ['admission', 'upstream', 'answer'],
}

describe('the dashboard and the alert rules', () => {
  const labels = new Map<string, string[]>(ofWorkers)
  const endings: (() => unknown)[] = []
  before(async () => {
    for (const engine of ['sqlite', 'postgres'] as const) {
      const service = await startService({ after: (end) => void endings.push(end as () => unknown) }, engine)
      for (const metric of service.app.metrics.registry.getMetricsAsArray()) {
        const { name, labelNames = [] } = metric as { name: string; labelNames?: string[] }
        labels.set(name, labelNames)
      }
    }
    for (const end of endings) await end()
  })

  test('name metrics that exist, with labels and values that they have', () => {
    assert.ok(labels.size > 30 && queries.length > 25 && ofObjectives.length === 2)
    for (const query of queries) {
      const named = [...query.matchAll(/\b((?:sallyport|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)]
      assert.ok(named.length > 0 || /\bup\{/.test(query), query)
      for (const [, name = '', matchers = ''] of named) {
        const own = labels.get(name.replace(/_(?:bucket|sum|count)$/, '')) ?? assert.fail(`${name} in ${query}`)
        for (const [, label = '', value = ''] of matchers.matchAll(/(\w+)=~?"([^"]*)"/g)) {
          assert.ok([...own, ...everywhere].includes(label), `${name} has no label ${label}`)
          for (const one of value.split('|')) assert.ok(values[label]?.includes(one), `${label} is never ${one}`)
        }
        for (const [, grouped = ''] of query.matchAll(/\bby \(([^)]*)\)/g)) {
          for (const label of grouped.split(', '))
            assert.ok([...own, ...everywhere].includes(label), `${label} in ${query}`)
        }
      }
      assert.equal(query.split('(').length, query.split(')').length, query)
    }
  })

  test('a counter is read as a rate, and a histogram by its buckets', () => {
    for (const query of queries) {
      for (const [name] of query.matchAll(/\bsallyport_\w+_total\b/g)) {
        assert.match(query, new RegExp(`(?:rate|increase)\\(${name}(?:\\{[^}]*\\})?\\[`), query)
      }
      for (const [name] of query.matchAll(/\bsallyport_\w+_seconds_bucket\b/g)) {
        assert.match(query, new RegExp(`histogram_quantile\\([^]*rate\\(${name}(?:\\{[^}]*\\})?\\[`), query)
      }
    }
  })

  test('each alert says what is wrong, how urgent it is, and has a section of the runbook', () => {
    const runbook = textOf('docs/runbook.md')
    for (const {
      alert,
      labels: { severity },
      annotations,
    } of rules) {
      assert.ok(['page', 'ticket'].includes(severity), alert)
      assert.ok(annotations.summary.length > 20, alert)
      assert.ok(runbook.includes(`\n### ${alert}\n`), `docs/runbook.md has no section ${alert}`)
    }
    const sections = [...runbook.matchAll(/^### (Sallyport\w+)$/gm)].map(([, name]) => name)
    assert.deepEqual(
      sections,
      rules.map(({ alert }) => alert),
    )
    for (const { legendFormat } of targets) assert.notEqual(legendFormat, '')
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  })
})
