/** The accessibility problems that axe-core finds in the current page. */
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
  // Colours during a transition do not count.
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
  // One that had begun before goes on.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().filter((one) => one.effect?.getComputedTiming().endTime < 5000).map((one) => one.finished))',
  )
  // Through the debugger, which the page's CSP does not affect.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  // Passed rules are not reported, as that takes longer than checking them.
  const judged = `axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations)`
  const violations = await page.evaluate<Violation[]>(judged)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}

export async function assertAccessible(page: Page, name = page.url()): Promise<void> {
  assert.deepEqual(await faultsOf(page), [], `axe on ${name}`)
}
