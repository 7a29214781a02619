/** The API reference: its page in a browser, and its examples as a reader runs them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { assertAccessible } from './accessible.ts'
import { base, inBrowser, serve } from './in-browser.ts'
import { dataFolder } from './running-service.ts'

const run = promisify(execFile)

serve()

interface Operation {
  operationId: string
  'x-code-samples': { label: string; source: string }[]
}

async function samplesOf(id: string): Promise<Map<string, string>> {
  const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as { paths: Record<string, object> }
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods) as Operation[])
  const samples = operations.find(({ operationId }) => operationId === id)?.['x-code-samples'] ?? []
  return new Map(samples.map(({ label, source }) => [label, source]))
}

/** What runs a sample, by its label: a command and the file's name. */
const runners: Record<string, [command: string, file: string]> = {
  curl: ['sh', 'sample.sh'],
  TypeScript: [process.execPath, 'sample.ts'],
  Python: ['python3', 'sample.py'],
}

async function runSample(t: TestContext, id: string, label: string, env: object, fill = (text: string) => text) {
  const [command = '', name = ''] = runners[label] ?? []
  const file = join(dataFolder(t), name)
  const source = (await samplesOf(id)).get(label) ?? ''
  writeFileSync(file, fill(source))
  const { stdout } = await run(command, [file], { env: { ...process.env, ...env } })
  // All but curl print the status first.
  return JSON.parse(stdout.slice(stdout.indexOf('{')))
}

for (const label of Object.keys(runners)) {
  test(`its examples in ${label} register an agent, start a sandbox and make a call`, async (t) => {
    const { agent, access_token } = await runSample(t, 'registerAgent', label, {})
    assert.match(agent.agent_id, /^agt_/)
    const env = { SALLYPORT_AGENT_TOKEN: access_token }
    const { grant_id } = await runSample(t, 'startSandbox', label, env)
    const answer = await runSample(t, 'proxyCall', label, env, (text) =>
      text.replace(/grt_\w+/, grant_id).replace('https://api.github.com/user', `${base}/v4/sandbox/echo`),
    )
    assert.deepEqual([answer.status, answer.body.headers.authorization], [200, 'Bearer [REDACTED]'])
    assert.equal((await runSample(t, 'listGrants', label, env)).grants[0].grant_id, grant_id)
  })
}

test('the page loads under 300 KB and may be cached', async () => {
  const page = await (await fetch(`${base}/docs`)).text()
  const named = [...page.matchAll(/(?:src|href|spec-url)="(\/docs\/[^"]+)"/g)].map(([, part = '']) => part)
  const parts = [...new Set(named)]
  assert.ok(parts.length >= 4)
  let bytes = 0
  for (const part of ['/docs', ...parts]) {
    const { stdout } = await run('curl', ['-s', '-D', '-', '-H', 'accept-encoding: gzip', base + part], {
      encoding: 'buffer',
      maxBuffer: 10_000_000,
    })
    bytes += stdout.length
    assert.match(stdout.subarray(0, 2000).toString('latin1'), /^cache-control: public, max-age=\d+\r$/im, part)
  }
  assert.ok(bytes > 100_000 && bytes < 300_000, `${bytes} bytes`)
})

inBrowser('the page can be searched, and shows an operation with its examples', [], async (visit) => {
  const page = await visit(`${base}/docs`)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.getByRole('heading', { name: 'API reference' }).waitFor()
    await page.getByText('Access requests', { exact: true }).first().waitFor()
    await assertAccessible(page, `the reference, ${colorScheme}`)
  }
  assert.equal(await page.title(), 'Sallyport API reference')
  await page.getByPlaceholder('Filter').fill('receipt')
  await page.getByText('Keys for tools', { exact: true }).waitFor({ state: 'hidden' })
  await page
    .getByText(/Get the receipt of a grant/)
    .first()
    .waitFor()
  await page.goto(`${base}/docs#?route=post-/v4/proxy`)
  await page.reload()
  await page.getByText('TypeScript', { exact: true }).click()
  await page.getByText('console.log').waitFor()
  await assertAccessible(page, 'an operation')
})
