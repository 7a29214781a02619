/** The way that docs/console.md shows in pictures, in a browser alone. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../server/testkit/browser.ts'
import { freePort } from '../server/testkit/ports.ts'
import { faultsOf } from './accessible.ts'
import { filmFirstAccount } from './first-account.ts'

const docs = resolve(import.meta.dirname, '../docs')

test('from an empty data directory to a connected GitHub account and an approved agent', async (t) => {
  const taken: string[] = []
  const picture = async (name: string, page: Page) => {
    taken.push(`${name}.webp`)
    assert.deepEqual(await faultsOf(page), [], name)
  }
  await filmFirstAccount(t, await freePort(), { launch: (flags) => launchBrowser({}, flags), picture })

  const kept = readdirSync(`${docs}/pictures`).toSorted()
  assert.deepEqual(kept, taken, 'npm run film takes the pictures again')
  for (const name of kept) assert.ok(statSync(`${docs}/pictures/${name}`).size <= 60 * 1024, `${name} is too large`)
  const shown = [...readFileSync(`${docs}/console.md`, 'utf8').matchAll(/\]\(pictures\/([^)]+)\)/g)].map(
    ([, name]) => name,
  )
  assert.deepEqual(shown, taken)
})
