/** Takes the pictures of docs/console.md: `npm run film`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../server/testkit/browser.ts'
import { filmFirstAccount } from './first-account.ts'

const folder = resolve(import.meta.dirname, '../docs/pictures')
mkdirSync(folder, { recursive: true })
const endings: (() => unknown)[] = []
const began = performance.now()

async function picture(name: string, page: Page): Promise<void> {
  await page.evaluate('document.fonts.ready')
  // What was just said would cover the heading for some seconds.
  await page.evaluate(`document.querySelector('[role=status]')?.classList.add('sr-only')`)
  const session = await page.context().newCDPSession(page)
  const shot = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 })
  await session.detach()
  const bytes = Buffer.from(shot.data, 'base64')
  writeFileSync(`${folder}/${name}.webp`, bytes)
  const seconds = Math.round((performance.now() - began) / 1000)
  process.stdout.write(`${name}.webp  ${Math.ceil(bytes.length / 1024)} KB, after ${seconds} s\n`)
}

try {
  const t = { after: (end: () => unknown) => endings.push(end) } as Parameters<typeof filmFirstAccount>[0]
  // The usual port, as it is in the pictures.
  await filmFirstAccount(t, 8787, { launch: (flags) => launchBrowser({}, flags), picture })
} finally {
  for (const end of endings.reverse()) await end()
}
