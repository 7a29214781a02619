/** The maximum compressed size of the scripts that a page loads. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'

const pages = resolve(import.meta.dirname, '../server/dist/pages')
const most = 150 * 1000

/** The scripts that a script imports, statically or when a view is opened. */
function importsOf(script: string, pattern: RegExp): string[] {
  const text = readFileSync(`${pages}/assets/${script}`, 'utf8')
  return [...text.matchAll(pattern)].map(([, name = '']) => name)
}

const atOnce = /\b(?:from|import)\s*["'`]\.\/([\w.-]+\.js)["'`]/g
const later = /\bimport\(\s*["'`]\.\/([\w.-]+\.js)["'`]/g

function allOf(scripts: Iterable<string>, known = new Set<string>()): Set<string> {
  for (const script of scripts) {
    if (known.has(script)) continue
    known.add(script)
    allOf(importsOf(script, atOnce), known)
  }
  return known
}

function weightOf(scripts: Set<string>, form: string): number {
  return [...scripts].reduce((sum, script) => sum + readFileSync(`${pages}/assets/${script}.${form}`).length, 0)
}

for (const page of ['index.html', 'authenticator.html']) {
  test(`the scripts of ${page} are under 150 KB, with any of its views`, () => {
    const html = readFileSync(`${pages}/${page}`, 'utf8')
    const named = [...html.matchAll(/(?:src|href)="\/assets\/([\w.-]+\.js)"/g)].map(([, name = '']) => name)
    const first = allOf(named)
    assert.ok(first.size > 2)
    const views = new Set([...first].flatMap((script) => importsOf(script, later)))
    assert.ok(page !== 'index.html' || views.size >= 5)
    for (const form of ['br', 'gz']) {
      const weights = [...views].map((view) => [weightOf(allOf([view, ...first]), form), view] as const)
      const tooHeavy = [[weightOf(first, form), page] as const, ...weights].filter(([weight]) => weight >= most)
      assert.deepEqual(tooHeavy, [], form)
      assert.ok(weightOf(first, form) > 20_000)
    }
  })
}
