import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

test('the OAuth tour succeeds', async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'oauth-tour.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  assert.equal(code, 0, `${stdout}\n${stderr}`)
  assert.equal(stdout.match(/^✔ /gm)?.length, 17, stdout)
  assert.match(stdout, /All steps succeeded\.\n$/)
})
