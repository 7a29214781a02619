/** The SDK in a browser, bundled as an application would bundle it: only fetch and Web Crypto are available. */
import assert from 'node:assert/strict'
import { build } from 'esbuild'
import { base, inBrowser, serve } from './in-browser.ts'
import { roomyForLegacy } from './legacy-clients.ts'

serve(roomyForLegacy)

inBrowser('a client of the legacy protocol works in a browser', ['401 /v4/auth/me'], async (visit) => {
  const bundle = await build({
    stdin: { contents: "export * from '@sallyport/sdk'", resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    platform: 'neutral',
    format: 'iife',
    globalName: 'sdk',
    target: ['es2022'],
  })
  const page = await visit()
  await page.evaluate(`${bundle.outputFiles[0]?.text ?? ''}\n;globalThis.sdk = sdk`)
  const published = await fetch(`${base}/v1/authai/public-key`)
  const { fingerprint } = (await published.json()) as { fingerprint: string }
  const result = await page.evaluate(`(async () => {
    const key = await sdk.importClientKey(await sdk.exportClientKey(await sdk.generateClientKey(2048)))
    const client = sdk.createLegacyClient({
      baseUrl: location.origin,
      serviceKeyFingerprint: '${fingerprint}',
      key,
    })
    await client.save('browser', [{ key: 'a', value: { text: 'ü🔑' } }])
    await client.rotate(await sdk.generateClientKey(2048))
    await client.refresh()
    const { items, missing } = await client.read('browser', ['a', 'b'])
    return [items[0].value, missing]
  })()`)
  assert.deepEqual(result, [{ text: 'ü🔑' }, ['b']])
})
