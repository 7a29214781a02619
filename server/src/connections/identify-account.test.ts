import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startConnectionTest } from '../../testkit/connections.ts'
import { freePort } from '../../testkit/ports.ts'

test("the account is read from the configured server, not the preset's own", async (t) => {
  const port = await freePort()
  const origin = `https://localhost:${port}`
  const { connect, connection } = await startConnectionTest(t, 'sqlite', {
    oauth: { port },
    provider: {
      preset: 'gitlab',
      authorization_url: `${origin}/auth`,
      token_url: `${origin}/token`,
      userinfo_endpoint: `${origin}/me`,
      token_endpoint_auth_method: 'client_secret_basic',
    },
  })
  const { account_label } = await connection(await connect())
  assert.equal(account_label, 'ada@example.com')
})
