/** Providers whose tokens are issued for a key: what an admin can set, and what is set without. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'

const app = { kind: 'github_app' }
const account = { kind: 'google_service_account' }

onBothDatabases('a provider for a GitHub App or a service account', (engine) => {
  test('needs no issuer, no client and no URL', async (t) => {
    const { call, adminToken } = await startService(t, engine)
    const create = (body: object) => call('POST', '/v4/providers', { token: adminToken, body })
    const apps = await create({ provider_name: 'Apps', api_hosts: ['api.github.com'], auth_methods: [app] })
    assert.deepEqual([apps.status, apps.body.status, apps.body.token_url], [201, 'active', null])
    assert.equal(apps.body.auth_methods[0].api_url, 'https://api.github.com')
    assert.deepEqual(
      apps.body.auth_methods[0].members.map(({ name, secret, optional, format }: Record<string, unknown>) =>
        [name, secret && 'secret', optional && 'optional', format].filter((word) => word).join(' '),
      ),
      [
        ...['app_id text', 'installation_id text', 'private_key secret pem'],
        ...['repositories optional text', 'permissions optional text'],
      ],
    )
    const accounts = await create({
      provider_name: 'Sheets',
      api_hosts: ['sheets.googleapis.com'],
      auth_methods: [account],
    })
    assert.deepEqual(
      [accounts.status, accounts.body.status, accounts.body.token_url],
      [201, 'active', 'https://oauth2.googleapis.com/token'],
    )
    assert.equal(accounts.body.auth_methods[0].checks, 'account')
  })

  test('comes with the presets, where their own hosts are listed', async (t) => {
    const { call, adminToken } = await startService(t, engine)
    const create = (body: object) => call('POST', '/v4/providers', { token: adminToken, body })
    const kindsOf = ({ body, text }: Awaited<ReturnType<typeof create>>) =>
      body.auth_methods?.map(({ kind }: { kind: string }) => kind) ?? text
    assert.deepEqual(kindsOf(await create({ preset: 'github' })), ['oauth2', 'api_key', 'github_app'])
    assert.deepEqual(kindsOf(await create({ preset: 'google' })), ['oauth2', 'google_service_account'])
    const cloud = await create({ preset: 'google-cloud' })
    assert.deepEqual(kindsOf(cloud), ['google_service_account'])
    assert.equal(cloud.body.token_url, 'https://oauth2.googleapis.com/token')
    const git = await create({ preset: 'github', slug: 'git', api_hosts: ['github.com'] })
    assert.deepEqual(kindsOf(git), ['oauth2', 'api_key'])
    const own = await create({
      ...{ preset: 'github', slug: 'own', api_hosts: ['git.example.com'] },
      auth_methods: [{ ...app, api_url: 'https://git.example.com/api/v3' }],
    })
    assert.deepEqual([kindsOf(own), own.body.preset], [['github_app'], 'github'])
  })

  test('is refused if something of it would be ignored, or a key would be sent elsewhere', async (t) => {
    const { call, adminToken, registerAgent } = await startService(t, engine)
    const agent = await registerAgent()
    const common = { provider_name: 'Apps', api_hosts: ['git.example.com'] }
    const oauth = {
      ...{ authorization_url: 'https://git.example.com/a', token_url: 'https://git.example.com/t', client_id: 'x' },
      client_secret: 'a-secret-of-the-client',
    }
    const at = (api_url: string) => ({ auth_methods: [{ ...app, api_url }] })
    const wrong: [body: object, field: string][] = [
      [{ auth_methods: [app] }, 'auth_methods.0.api_url'],
      [at('https://evil.example/api/v3'), 'auth_methods.0.api_url'],
      [at('http://git.example.com/api/v3'), 'auth_methods.0.api_url'],
      [at('https://git.example.com/api/v3/'), 'auth_methods.0.api_url'],
      [at('https://git.example.com/api/../v3'), 'auth_methods.0.api_url'],
      [at('https://ada@git.example.com'), 'auth_methods.0.api_url'],
      [at('https://git.example.com?x'), 'auth_methods.0.api_url'],
      [at('git.example.com'), 'auth_methods.0.api_url'],
      [{ ...at('https://git.example.com'), token_url: 'https://git.example.com/token' }, 'token_url'],
      [{ ...at('https://git.example.com'), scopes: ['repo'] }, 'scopes'],
      [{ auth_methods: [{ ...account, api_url: 'https://git.example.com' }] }, 'auth_methods.0.api_url'],
      [{ ...oauth, auth_methods: [{ kind: 'oauth2', api_url: 'https://git.example.com' }] }, 'auth_methods.0.api_url'],
      [{ auth_methods: [account], scopes: ['drive'] }, 'scopes'],
      [{ auth_methods: [account], client_id: 'x' }, 'client_id'],
      [{ auth_methods: [account], token_url: 'http://git.example.com/token' }, 'token_url'],
      [
        { auth_methods: [{ ...account, inject: [{ in: 'header', name: 'x', template: '{key_json}' }] }] },
        'auth_methods.0.inject',
      ],
      [{ auth_methods: [{ ...account, members: [{ name: 'token_uri' }] }] }, 'auth_methods.0.members.0'],
    ]
    for (const [body, field] of wrong) {
      const { status, body: answer } = await call('POST', '/v4/providers', {
        token: adminToken,
        body: { ...common, ...body },
      })
      assert.deepEqual([status, answer.error?.field], [400, field], JSON.stringify(body))
    }
    const proposal = { ...common, issuer_url: 'https://git.example.com', auth_methods: [account] }
    const proposed = await call('POST', '/v4/providers/proposals', { token: agent.token, body: proposal })
    assert.deepEqual([proposed.status, proposed.body.error.field], [400, 'auth_methods'])
  })
})
