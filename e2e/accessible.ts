/** What axe-core, the usual judge, finds of a page as it stands. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

export async function faultsOf(page: Page): Promise<string[]> {
  // Colours that are still on their way are nobody's.
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
  // By the debugger, which the page's policy does not bind.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  // What passes is not described: that takes longer than to judge it.
  const judged = `axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations)`
  const violations = await page.evaluate<Violation[]>(judged)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}

export async function assertAccessible(page: Page, name = page.url()): Promise<void> {
  assert.deepEqual(await faultsOf(page), [], `axe on ${name}`)
}
