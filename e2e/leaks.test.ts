/**
 * After every flow that needs no provider, no issued token can be found anywhere: only its hash
 * is stored. (For tokens of providers see `secrecy.test.ts` of connections and `login-secrecy.test.ts` of sessions.)
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { acme, client } from '../server/testkit/providers.ts'
import type { Call, Reply } from './http-call.ts'
import { roomy, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'

const issuing =
  /^POST \/v4\/(?:agents\/(?:register|rotate-token)|auth\/login(?:-tokens)?|devices\/pair(?:ing-codes)?|access-requests)$/

/** Calls the service and collects every token it issues, and every response that should contain none. */
function witness(service: RunningService) {
  const tokens = new Set<string>([service.adminToken])
  const answers: string[] = []
  const collect = (text: string) => {
    for (const [token] of text.matchAll(/sp_[a-z]+_[0-9A-Za-z]{20,}|whsec_[\w+/]{40,}/g)) tokens.add(token)
  }
  collect(service.stdout)
  const call = async (method: string, path: string, what: Call & { reflects?: boolean } = {}): Promise<Reply> => {
    const reply = await service.call(method, path, what)
    const whole = `${JSON.stringify(reply.headers)}\n${reply.text}`
    if (issuing.test(`${method} ${path}`)) collect(whole)
    // A caller's own input may be returned to that caller only.
    else if (what.reflects !== true) answers.push(whole)
    return reply
  }
  return { call, tokens, answers }
}

async function walkEverything(service: RunningService) {
  const { call, tokens, answers } = witness(service)
  const { adminToken } = service
  const live: string[] = []

  const register = async () => (await call('POST', '/v4/agents/register', { body: { name: 'a' } })).body
  const one = await register()
  const two = await register()
  const rotated = (await call('POST', '/v4/agents/rotate-token', { token: one.access_token })).body
  const token: string = rotated.access_token
  live.push(token, two.access_token)
  await call('GET', '/v4/agents/me', { token })
  await call('GET', '/v4/agents/me', { token: one.access_token })
  await call('GET', '/v4/agents', { token: adminToken })
  await call('POST', `/v4/agents/${two.agent.agent_id}/disable`, { token: adminToken })

  const logIn = async (whom: object) => {
    const issued = (await call('POST', '/v4/auth/login-tokens', { token: adminToken, body: whom })).body
    const { login_token, user_id } = issued
    await call('POST', '/v4/auth/login/preview', { body: { login_token } })
    const reply = await call('POST', '/v4/auth/login', { body: { login_token } })
    await call('POST', '/v4/auth/login', { body: { login_token } })
    live.push(login_token, reply.body.session_token)
    return { user_id: user_id as string, session: reply.body.session_token as string }
  }
  const ada = await logIn({ email: 'ada@example.com' })
  const bob = await logIn({ name: 'Bob' })
  const cookie = `svc_session=${ada.session}`
  await call('GET', '/v4/auth/me', { headers: { cookie } })
  await call('GET', '/v4/auth/sessions', { token: ada.session })
  const { pairing_code: code } = (await call('POST', '/v4/devices/pairing-codes', { token: ada.session })).body
  tokens.add(code).add(code.replace('-', ''))
  const paired = (await call('POST', '/v4/devices/pair', { body: { pairing_code: code } })).body
  live.push(paired.session_token)
  await call('GET', '/v4/devices', { token: ada.session })
  await call('GET', '/v4/auth/me', { token: paired.session_token })
  const provider = { ...acme, ...client, slug: 'acme' }
  await call('POST', '/v4/providers', { token: adminToken, body: provider })
  const wish = { provider: 'acme', user_id: ada.user_id, callback_url: 'https://agent.example/done' }
  const asked = (await call('POST', '/v4/access-requests', { token, body: wish })).body
  assert.match(asked.callback_secret, /^whsec_/)
  await call('GET', `/v4/access-requests/${asked.access_request_id}`, { token })
  await call('GET', '/v4/access-requests/pending', { token: paired.session_token })
  await call('POST', '/v4/auth/logout', { headers: { cookie } })
  await call('POST', '/v4/auth/logout', { token: bob.session })
  await call('POST', '/v4/auth/logout-all', { token: (await logIn({ user_id: ada.user_id })).session })
  await call('GET', '/v4/users', { token: adminToken })
  await call('POST', `/v4/users/${bob.user_id}/disable`, { token: adminToken })
  await call('POST', '/v4/auth/login-tokens', { token: adminToken, body: {} })

  const { grant_id, echo_url } = (await call('POST', '/v4/sandbox/start', { token })).body
  const proxy = (change: object) => {
    const body = { grant_id, method: 'GET', url: echo_url, ...change }
    return call('POST', '/v4/proxy', { token, body, reflects: true })
  }
  const echoed = await call('POST', '/v4/proxy', { token, body: { grant_id, method: 'GET', url: echo_url } })
  assert.equal(echoed.body.body.headers.authorization, 'Bearer [REDACTED]')
  await call('GET', '/v4/sandbox/echo', { token, headers: { cookie } })

  for (const wrong of [token, adminToken, ada.session, live[2] ?? '']) {
    await proxy({ method: 'POST', body: { reflected: wrong } })
    await proxy({ headers: { authorization: `Bearer ${wrong}`, cookie: wrong, 'x-reflected': wrong } })
    await proxy({ headers: { [wrong]: 'as a name' } })
    await proxy({ url: `${echo_url}?access_token=${wrong}&${wrong}=1` })
    await proxy({ url: `${echo_url}/${wrong}` })
    await proxy({ url: `https://${wrong}.example/${wrong}` })
    await proxy({ url: `https://user:${wrong}@example.com/` })
    await proxy({ url: wrong })
    await proxy({ grant_id: wrong })
    await proxy({ method: wrong })
    await proxy({ [wrong]: wrong })
    const reflects = true
    await call('GET', `/v4/${wrong}`, { token: wrong, reflects })
    await call('POST', `/v4/agents/${wrong}/disable`, { token: adminToken, reflects })
    await call('DELETE', `/v4/auth/sessions/${wrong}`, { token: wrong, reflects })
    await call('GET', `/v4/agents?cursor=${wrong}&${wrong}=1`, { token: adminToken, reflects })
    await call('GET', `/v4/agents?token=${wrong}`, { token: wrong, reflects })
    await call('POST', '/v4/agents/register', { body: { [wrong]: 1, name: 7 }, reflects })
    await call('POST', '/v4/agents/register', { body: `{"name": ${wrong}`, reflects })
    await call('POST', '/v4/auth/login', {
      body: { login_token: `${wrong}x` },
      headers: { origin: 'https://evil.example' },
    })
    await call('GET', '/v4/agents/me', { headers: { authorization: wrong } })
    await call('GET', '/v4/agents/me', { headers: { authorization: `Basic ${btoa(`x:${wrong}`)}` } })
    await call('GET', '/v4/agents/me', { headers: { traceparent: `00-${wrong}-${wrong}-01` } })
    await call('GET', '/healthz', { headers: { 'x-request-id': wrong, 'user-agent': wrong, referer: wrong } })
  }
  const metrics = await call('GET', '/metrics', { token: adminToken })
  assert.match(metrics.text, /sallyport_proxy_calls_total/)
  assert.ok([...tokens].length >= 12)
  return { tokens: [...tokens], live, answers }
}

/** The forms in which a token could be stored. */
function formsOf(secret: Buffer): [string, Buffer][] {
  const hex = secret.toString('hex')
  return [
    ['plain', secret],
    ['base64', Buffer.from(secret.toString('base64').replace(/=+$/, ''))],
    ['base64url', Buffer.from(secret.toString('base64url'))],
    ['hex', Buffer.from(hex)],
    ['hex in capitals', Buffer.from(hex.toUpperCase())],
    ['UTF-16', Buffer.from(secret.toString('latin1'), 'utf16le')],
    ['reversed', Buffer.from(secret).reverse()],
  ]
}

function masterKeyOf({ env, dataDir }: RunningService): string {
  return env['SALLYPORT_MASTER_KEY'] ?? readFileSync(join(dataDir, 'master-key'), 'utf8').trim()
}

function filesOf({ dataDir }: RunningService): [string, Buffer][] {
  const names = readdirSync(dataDir).filter((name) => !['admin-token', 'master-key'].includes(name))
  return names.map((name) => [name, readFileSync(join(dataDir, name))])
}

/** Every row of every table as text; bytes come as hex. */
async function dumpOf({ env }: RunningService): Promise<[string, Buffer][]> {
  const client = new pg.Client({ connectionString: env['DATABASE_URL'] ?? '' })
  await client.connect()
  try {
    const tables = await client.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public'`,
    )
    const dumps: [string, Buffer][] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ line: string }>(`select row_to_json(t)::text as line from "${name}" t`)
      dumps.push([name, Buffer.from(rows.map(({ line }) => line).join('\n'))])
    }
    return dumps
  } finally {
    await client.end()
  }
}

function assertNowhere(places: [string, Buffer][], secrets: Buffer[]): void {
  const found = places.flatMap(([place, content]) =>
    secrets.flatMap((secret) =>
      formsOf(secret)
        .filter(([, form]) => content.includes(form))
        .map(([form]) => `${secret.toString('latin1').slice(0, 16)}… ${form} in ${place}`),
    ),
  )
  assert.deepEqual(found, [])
  const sandboxes = places.filter(([, content]) => content.includes('sp_sandbox_')).map(([place]) => place)
  assert.deepEqual(sandboxes, [], 'the credential of the sandbox')
}

onBothDatabases('no credential is left behind', (engine) => {
  test('every flow stores only hashes of tokens, and nothing of the master key', async (t) => {
    const service = await startService(t, engine, { ...roomy, SALLYPORT_LOG_LEVEL: 'debug' })
    const { tokens, live, answers } = await walkEverything(service)
    const key = masterKeyOf(service)
    const secrets = [...tokens.map((token) => Buffer.from(token)), Buffer.from(key), Buffer.from(key, 'base64url')]

    const stored = engine === 'postgres' ? await dumpOf(service) : filesOf(service)
    const hashes = live.map((token) => createHash('sha256').update(token).digest())
    const isStored = (hash: Buffer) =>
      stored.some(([, content]) => content.includes(engine === 'postgres' ? hash.toString('hex') : hash))
    assert.ok(hashes.length > 5 && hashes.every(isStored), 'the search finds what is there')

    assertNowhere([...stored, ['answers', Buffer.from(answers.join('\n'))], ['log', Buffer.from(service.log)]], secrets)
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    assertNowhere([...filesOf(service), ['log', Buffer.from(service.log)]], secrets)
  })
})
