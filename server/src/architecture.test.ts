/** The rules of ARCHITECTURE.md, executed. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { errorCodes } from '@sallyport/protocol/errors'
import { waysOut } from '../testkit/ways-out.ts'

const root = resolve(import.meta.dirname, '../..')

interface SourceFile {
  path: string
  text: string
  imports: { isType: boolean; from: string }[]
}

function filesBelow(folder: string): SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/\/(?:node_modules|dist)\//.test(file))
    .map((file) => {
      const text = readFileSync(file, 'utf8')
      const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^'"]*?from\s+'([^']+)'|\bimport\('([^']+)'\)/gm)
      const imports = [...found].map(([, type, from, dynamic]) => ({
        isType: type !== undefined,
        from: resolveImport(file, from ?? dynamic ?? ''),
      }))
      return { path: relative(root, file), text, imports }
    })
}

/** A path from the repository's root for our own files, the package's name for others. */
function resolveImport(file: string, from: string): string {
  if (from.startsWith('.')) return relative(root, resolve(dirname(file), from))
  return from.startsWith('@sallyport/') ? from.replace('@sallyport/', '').replace('/', '/src/') : from
}

const protocol = filesBelow('protocol')
const sdk = filesBelow('sdk')
const cli = filesBelow('cli')
const server = filesBelow('server/src')
const code = server.filter(({ path }) => !path.endsWith('.test.ts'))
const everything = [
  ...protocol,
  ...sdk,
  ...cli,
  ...server,
  ...filesBelow('server/testkit'),
  ...filesBelow('e2e'),
  ...filesBelow('bench'),
  ...filesBelow('endurance'),
  ...filesBelow('demo'),
  ...filesBelow('scripts'),
]

/** A room may import from the rows above its own, and from itself. */
const rows = [
  ['platform'],
  ['config', 'migrations'],
  ['redaction', 'audit'],
  ['agents', 'sessions', 'providers'],
  ['devices', 'pauses'],
  ['connections', 'events'],
  ['grants', 'callbacks'],
  ['access-requests', 'call-log', 'tool-keys'],
  ['proxy'],
  ['held-calls'],
  ['sandbox', 'health', 'tool-calls', 'gateway', 'mail'],
  ['legacy-v1'],
]

/** Files that stand outside the rooms: the wiring, and what is run beside the service. */
const wiring = [
  ...['app.ts', 'main.ts', 'stores.ts', 'sweep.ts', 'sealed-columns.ts', 'start-screen.ts', 'commands'],
  ...['background-jobs.ts', 'page-routes.ts', 'reference', 'unapproved-storage.ts', 'version.ts'],
  ...['workers.ts', 'worker-figures.ts', 'worker-link.ts'],
]

function roomOf(path: string): string | undefined {
  return /^server\/src\/([^/]+)\//.exec(path)?.[1]
}

function isWiring(path: string): boolean {
  return wiring.some((name) => path.startsWith(`server/src/${name}`))
}

function broken(files: SourceFile[], isBroken: (file: SourceFile, from: string, isType: boolean) => boolean): string[] {
  return files.flatMap((file) =>
    file.imports
      .filter(({ from, isType }) => isBroken(file, from, isType))
      .map(({ from }) => `${file.path} imports ${from}`),
  )
}

test('imports run in one direction: a room imports only the rooms above it', () => {
  const rowOf = (room: string) => rows.findIndex((row) => row.includes(room))
  const wrong = broken(code, ({ path }, from) => {
    const here = roomOf(path)
    const there = roomOf(from)
    if (here === undefined || there === undefined || here === there || isWiring(path)) return false
    return rowOf(there) === -1 || rowOf(here) === -1 || rowOf(there) >= rowOf(here)
  })
  assert.deepEqual(wrong, [])
})

test('the legacy protocol imports only platform, config and audit, and only the wiring imports it', () => {
  const wrong = broken(code, ({ path }, from) => {
    const here = roomOf(path)
    const there = roomOf(from)
    if (here === 'legacy-v1')
      return there !== undefined && !['legacy-v1', 'platform', 'config', 'audit'].includes(there)
    return there === 'legacy-v1' && !isWiring(path)
  })
  assert.deepEqual(wrong, [])
})

test('platform imports nothing but the protocol', () => {
  const wrong = broken(
    code.filter(({ path }) => roomOf(path) === 'platform'),
    (_file, from) => from.startsWith('server/src/') && roomOf(from) !== 'platform',
  )
  assert.deepEqual(wrong, [])
})

/** OAuth has grants and devices of its own, and so have the push services; a token's kind is its prefix; Node's http has agents. */
const haveOwnNouns = /^server\/src\/platform\/(?:oauth\/|push\/|tokens\.ts$|egress\/(?:egress-proxy|loopback-http))/
const nouns = /^(?:agent|approval|device|grant|legacy|pairing|proposal|provider|receipt|sandbox)(?:e?s)?$/i

test('platform uses no domain terms of the service', () => {
  const platform = code.filter(({ path }) => roomOf(path) === 'platform' && !haveOwnNouns.test(path))
  const wrong = platform.flatMap(({ path, text }) => {
    const withoutComments = text.replaceAll(/\/\*[^]*?\*\/|(?<!:)\/\/.*/g, '')
    const withoutNames = withoutComments.replaceAll(/user-?agent|origin-agent-cluster|type-?provider/gi, '')
    const words = withoutNames.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []
    return words.filter((word) => nouns.test(word)).map((word) => `${path} says ${word}`)
  })
  assert.deepEqual(wrong, [])
  assert.ok(platform.length > 50)
})

test('the audit log does not depend on calls or their events', () => {
  const files = code.filter(({ path }) => roomOf(path) === 'audit')
  assert.deepEqual(
    files.filter(({ text }) => /\bproxy\b|call-log/.test(text)).map(({ path }) => path),
    [],
  )
  assert.ok(files.length > 10)
})

test('protocol imports no room, and end-to-end tests and the demo use only the API', () => {
  assert.deepEqual(
    broken(protocol, (_file, from) => from.startsWith('server/')),
    [],
  )
  assert.deepEqual(
    broken([...filesBelow('e2e'), ...filesBelow('demo')], (_file, from) => from.startsWith('server/src/')),
    [],
  )
})

test('the SDK imports only the protocol and itself, and no runtime', () => {
  const published = sdk.filter(({ path }) => !path.endsWith('.test.ts'))
  assert.deepEqual(
    broken(published, (_file, from) => !/^(?:sdk|protocol)\/src\//.test(from)),
    [],
  )
  const ofOneRuntime = published.filter(({ text }) => /\b(?:Buffer|process|window|document)\b\s*[.(]/.test(text))
  assert.deepEqual(
    ofOneRuntime.map(({ path }) => path),
    [],
  )
  assert.ok(published.length > 0)
})

test('the command line imports only the SDK, rules about addresses and WebSockets, and one file of it uses the process', () => {
  const isOfOthers = (from: string) => /^(?:server|web|protocol|e2e)\//.test(from)
  const published = cli.filter(({ path }) => !path.endsWith('.test.ts'))
  const shared = ['public-address', 'websocket-byte-stream', 'websocket-messages'].map((name) => `protocol/src/${name}`)
  const wrong = broken(published, (_file, from) => isOfOthers(from) && !shared.includes(from))
  assert.deepEqual(wrong, [])
  const readers = published.filter(({ text }) => /\bprocess\.(?:env|argv|exit)/.test(text)).map(({ path }) => path)
  assert.deepEqual(readers, ['cli/src/command-line.ts'])
  assert.ok(cli.length > 20)
})

test('only routes use HTTP', () => {
  const isHttp = (from: string) => /^(?:fastify|@fastify\/|node:https?$)/.test(from)
  const wrong = broken(code, ({ path }, from) => {
    const isShell = /server\/src\/(?:platform\/http\/|platform\/egress\/|authenticate\.ts)/.test(path)
    return isHttp(from) && !isShell && !path.endsWith('-routes.ts')
  })
  assert.deepEqual(wrong, [])
})

test('only stores and the platform use SQL', () => {
  const wrong = broken(code, ({ path }, from) => {
    if (from !== 'kysely' || path.startsWith('server/src/platform/')) return false
    return !path.endsWith('-store.ts') && !path.startsWith('server/src/commands/doctor')
  })
  assert.deepEqual(wrong, [])
})

test('stores are injected: only the wiring and other stores import them as values', () => {
  const wrong = broken(code, ({ path }, from, isType) => {
    if (isType || !from.endsWith('-store.ts')) return false
    return !isWiring(path) && !path.endsWith('-store.ts')
  })
  assert.deepEqual(wrong, [])
})

test('authenticate.ts is for routes', () => {
  const wrong = broken(code, ({ path }, from) => {
    return from === 'server/src/authenticate.ts' && !path.endsWith('-routes.ts') && !isWiring(path)
  })
  assert.deepEqual(wrong, [])
})

test('rooms do no I/O of their own', () => {
  const wrong = broken(code, ({ path }, from) => {
    const isIo = /^node:(?:fs|net|tls|dns|http|https|http2|dgram|child_process|cluster|worker_threads)/.test(from)
    const room = roomOf(path) ?? 'platform'
    // config/findings.ts looks at the files that the settings name.
    return isIo && !['platform', 'config'].includes(room) && !isWiring(path)
  })
  assert.deepEqual(wrong, [])
})

test('nothing but the egress opens a connection', () => {
  assert.deepEqual([...protocol, ...code].flatMap(waysOut), [])
})

test('every server is created by two files, so that a broken connection cannot crash the process', () => {
  const makers = code.filter(({ text }) => /\bcreate\w*Server\b|\bnew (?:\w+\.)?\w*Server\(/.test(text))
  const names = makers.map(({ path }) => path.replace('server/src/platform/http/', ''))
  assert.deepEqual(names, ['listener.ts', 'tunnels/tunnel-servers.ts'])
})

test('a connection that bypasses the egress is found, however it is written', () => {
  const found = (text: string, path = 'server/src/agents/register.ts') => waysOut({ path, text })
  const ways = [
    "import { request } from 'undici'",
    "import type { Dispatcher } from 'undici'",
    "import { connect } from 'node:net'",
    "import { isIP, createConnection as isOther } from 'node:net'",
    "import net from 'node:net'",
    "import * as http from 'http'",
    "import https, { createServer } from 'node:https'",
    "import 'node:http2'",
    "import { connect } from 'node:tls'",
    "import { lookup } from 'node:dns/promises'",
    "import { createSocket } from 'node:dgram'",
    "export { request } from 'node:https'",
    "export * from 'node:http'",
    "const net = await import('node:net')",
    'const any = await import(name)',
    "import pg from 'pg'",
    "import * as client from 'openid-client'",
    "import { discoveryRequest } from 'oauth4webapi'",
    "const { sendNotification } = await import('web-push')",
    "await fetch('https://a.example')",
    "const url = 'https://a.example'; await fetch(url) // fetch",
    'const options = { [customFetch]: fetch }',
    'const options = { fetch }',
    'const { send = fetch } = needs',
    'function one(fetch: F) {} ; function other() { return fetch(url) }',
    "new WebSocket('wss://a.example')",
    "new EventSource('https://a.example')",
    "globalThis['fe' + 'tch'](url)",
    "const net = require('net')",
    "const net = process.getBuiltinModule('net')",
    "const net = process['getBuiltinModule']('net')",
    'await global.fetch(url)',
    "new Function('return fetch')()",
    "const wrap = process.binding('tcp_wrap')",
    "import { ClientRequest } from '_http_client'",
    "import Module from 'node:module'",
    "import { execFile } from 'node:child_process'",
    "import { Worker } from 'node:worker_threads'",
    "import { runInThisContext } from 'node:vm'",
    "import { open } from 'node:inspector'",
    "import cluster from 'node:cluster'",
  ]
  for (const text of ways) assert.equal(found(text).length, 1, text)
  const harmless = [
    "import { isIP, createServer } from 'node:net'",
    "import type { Socket } from 'node:net'",
    "import { type IncomingMessage, STATUS_CODES } from 'node:http'",
    "await egress.fetch('stranger')(url)",
    'interface Needs { fetch: (url: string) => Promise<Response> }',
    'function discover(fetch: EgressFetch) { return fetch(url) }',
    'function all({ fetch }: Needs) { return list.map((url) => fetch(url)) }',
    "function one() { const fetch = egress.fetch('operator'); return { fetch } }",
    "// fetch(url)\nconst text = 'fetch(url)'",
    'const binding = one.binding',
  ]
  for (const text of harmless) assert.deepEqual(found(text), [], text)
  assert.deepEqual(found("import { Agent } from 'undici'", 'server/src/platform/egress/egress.ts'), [])
  assert.deepEqual(found("import * as client from 'openid-client'", 'server/src/platform/oauth/client.ts'), [])
  assert.deepEqual(found("await import('web-push')", 'server/src/platform/push/web-push.ts'), [])
  assert.equal(found("import webPush from 'web-push'", 'server/src/platform/push/push.ts').length, 1)
  assert.equal(found("import { Agent } from 'undici'", 'server/src/platform/oauth/client.ts').length, 1)
  assert.equal(found("import { request } from 'undici'", 'server/src/platform/egress-settings.ts').length, 1)
})

test('a Secret is revealed only in the listed files', () => {
  const opens = code.filter(({ text }) => text.includes('.reveal()')).map(({ path }) => path.replace('server/src/', ''))
  assert.deepEqual(opens.sort(), [
    'access-requests/access-request-routes.ts', // hands the secret of its callback to the agent, once
    'agents/agent-routes.ts', // hands the token to the agent, once
    'audit/audit-key-store.ts', // takes the key that signs heads out of the vault
    'callbacks/callback.ts', // signs with it
    'connections/check-credential.ts', // fills in the URL of the check
    'connections/connect-routes.ts', // gives the browser its hold on an answer that waits
    'connections/credential.ts', // packs and unpacks what was entered
    'connections/finish-connect.ts', // reads the answer that a provider sent
    'devices/device-routes.ts', // hands pairing codes and the device's token out, once
    'gateway/authority-store.ts', // takes the key that signs certificates out of the vault
    'held-calls/held-call-store.ts', // reads what is stored of calls that wait
    'held-calls/repeat-store.ts', // reads what approvals that repeat cover
    'legacy-v1/item.ts', // names what is stored by an HMAC, and reads it for its client
    'legacy-v1/service-keys.ts', // imports the key that opens envelopes
    'platform/config/platform-settings.ts', // judges what was set
    'platform/database/postgres.ts', // connects
    'platform/egress/egress-settings.ts', // reads the proxy's password
    'platform/mail/mail-settings.ts', // reads the mail server's password
    'platform/oauth/oauth.ts', // speaks to the authorization server
    'platform/push/apns.ts', // names the device, and proves who sends
    'platform/push/fcm.ts', // the same
    'platform/push/subscription.ts', // parses what a browser subscribed with
    'platform/push/vapid-key.ts', // finds its public half
    'platform/push/web-push.ts', // signs
    'platform/telemetry/otlp-settings.ts', // authenticates to the collector
    'platform/tokens.ts', // hashes
    'platform/vault/key-files.ts', // writes the files of the data directory
    'platform/vault/master-keys.ts', // parses and writes the master keys
    'platform/vault/transit-settings.ts', // has another Vault decrypt the master key
    'platform/vault/vault.ts', // seals
    'providers/auth-kinds/aws-sigv4.ts', // packs and unpacks the keys of a role
    'providers/auth-kinds/github-app.ts', // shows GitHub an assertion
    'providers/auth-kinds/google-service-account.ts', // unpacks the key file, and shows Google an assertion
    'providers/auth-kinds/private-key.ts', // signs with it
    'providers/aws/sign-request.ts', // signs with it
    'providers/injector.ts', // puts what was entered into the call
    'proxy/credential-kinds/header.ts', // puts a token into the call
    'proxy/idempotency-store.ts', // hands out an answer that was stored under an Idempotency-Key
    'redaction/secret-forms.ts', // searches for it
    'sessions/browser-login-routes.ts', // puts the tokens of browser and session into their cookies
    'sessions/browser-login.ts', // puts the provider's answer, as it came, to the address that it came to
    'sessions/issue-login-token.ts', // makes the link that carries it
    'sessions/session-routes.ts', // hands session and login tokens out, once
    'start-screen.ts', // prints the sign-in link
    'tool-keys/tool-key-routes.ts', // hands the key to the agent, once
  ])
})

test('only config.ts and the commands read the environment', () => {
  const readers = code.filter(({ text }) => text.includes('process.env')).map(({ path }) => path)
  assert.deepEqual(readers, ['server/src/commands/command-line.ts'])
})

test('every error code is provoked by a test', () => {
  const tests = everything.filter(({ path }) => path.endsWith('.test.ts') && !path.endsWith('architecture.test.ts'))
  const text = tests.map((file) => file.text).join('\n')
  assert.deepEqual(
    errorCodes.filter((one) => !text.includes(`'${one}'`)),
    [],
  )
})

test('every table is described in docs/storage.md', () => {
  const migrations = code.filter(({ path }) => path.startsWith('server/src/migrations/'))
  const named = (pattern: RegExp) =>
    migrations.flatMap(({ text }) => [...text.matchAll(pattern)].map(([, name]) => name ?? ''))
  const dropped = named(/drop table (\w+)/g)
  const tables = named(/create table (\w+)/g).filter((name) => !dropped.includes(name))
  const storage = readFileSync(join(root, 'docs/storage.md'), 'utf8')
  assert.deepEqual(
    tables.filter((name) => !storage.includes(`\`${name}\``)),
    [],
  )
  assert.ok(tables.length > 5)
})

test("the system clock is read in one place, so that instances can share the database's clock", () => {
  const elsewhere = code.filter(({ text }) => /\bDate\.now\(|\bnew Date\(\)/.test(text)).map(({ path }) => path)
  assert.deepEqual(elsewhere, ['server/src/platform/clock.ts'])
})

test('files are small and have descriptive names', () => {
  const long = everything.filter(({ text }) => text.split('\n').length > 400).map(({ path }) => path)
  assert.deepEqual(long, [])
  const app = code.find(({ path }) => path === 'server/src/app.ts')
  assert.ok(app && app.text.split('\n').length < 200)
  const vague = /^(?:utils?|helpers?|common|lib|misc|manager|handler|service)\./
  const found = everything.map(({ path }) => path).filter((path) => vague.test(basename(path)))
  assert.deepEqual(found, ['server/testkit/service.ts'])
})
