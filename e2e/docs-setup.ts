/**
 * What the documentation's examples run against: a service whose provider `github` is ours and whose `api.github.com`
 * is a local server, a copy of the clone to install from, and a user who approves every link.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { delimiter, join } from 'node:path'
import { startCallbackReceiver } from '../server/testkit/callback-receiver.ts'
import type { CallbackReceiver } from '../server/testkit/callback-receiver.ts'
import { startUpstream } from '../server/testkit/calling.ts'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { createGitHubAppServer } from '../server/testkit/github-app-server.ts'
import { createGoogleTokenServer } from '../server/testkit/google-token-server.ts'
import { freePort } from '../server/testkit/ports.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { root } from './code-blocks.ts'
import { copyClone, plainEnvironment } from './packing.ts'
import { succeeded } from './person.ts'
import { dataFolder, within } from './running-service.ts'
import type { Environment } from './running-service.ts'

export interface DocsSetup extends Calling {
  base: string
  /** Of the App and the service account in the examples. */
  keys: { privateKey: string; keyFile: string }
  /** Replaces https://api.github.com. */
  api: string
  receiver: CallbackReceiver
  clone: string
  /** The reader's own project. */
  project: string
  env: Environment
  /** The code with our URLs, folders and ids in place of the placeholders. */
  fill: (code: string) => string
  /** A home folder for someone who has not used the command line yet. */
  newHome: () => string
  /** Runs a script, in the copy of the clone unless told otherwise. Returns its standard output; throws if it fails. */
  shell: (script: string, changes?: Environment, cwd?: string) => Promise<string>
  /** Approves the access requests and calls that this text links to. */
  show: (text: string) => void
}

type Scope = Parameters<typeof startCalling>[0]

export async function startDocsSetup(t: Scope): Promise<DocsSetup> {
  const folder = dataFolder(t)
  const clone = copyClone(folder)
  const made = (name: string) => {
    mkdirSync(join(folder, name))
    return join(folder, name)
  }
  const [project, bin] = [made('project'), made('bin')]
  let homes = 0
  const newHome = () => made(`home-${++homes}`)
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  symlinkSync(join(root, 'server/bin/sallyport-server.mjs'), join(bin, 'sallyport-server'))
  // Claude Code is not installed here. This prints the arguments that it would get.
  writeFileSync(join(bin, 'claude'), `#!/usr/bin/env node\nconsole.log(JSON.stringify(process.argv.slice(2)))\n`, {
    mode: 0o755,
  })

  const certificate = await (await sharedAuthority()).issue({ names: ['localhost'] })
  const { port } = await startTlsUpstream(t, certificate, answerAsGitHub)
  const host = `localhost:${port}`
  const receiver = await startCallbackReceiver(t)
  const [apps, accounts] = [createGitHubAppServer(), createGoogleTokenServer()]
  const [ownGitHub, google] = [await startUpstream(t, apps.answer), await startUpstream(t, accounts.answer)]
  const gatewayPort = await freePort()
  const calling = await startCalling(t, 'sqlite', {
    settings: { SALLYPORT_GATEWAY_PORT: String(gatewayPort) },
    slug: 'github',
    hosts: [host, receiver.host, ownGitHub.host, google.host],
    provider: { provider_name: 'GitHub' },
  })
  const { service, personToken: token, connectionId: connection_id } = calling
  const base = `http://localhost:${service.port}`
  // Another provider, where the user has no connection.
  const { clientId: client_id, clientSecret: client_secret } = calling.oauth.client
  const acme = { provider_name: 'Acme', slug: 'acme', issuer_url: calling.oauth.issuer, client_id, client_secret }
  succeeded(await service.call('POST', '/v4/providers', { token: service.adminToken, body: acme }))

  const approved = new Set<string>()
  const show = (text: string) => {
    for (const [, id = ''] of text.matchAll(/approve-proxy\/(arq_\w+)/g)) {
      if (approved.has(id)) continue
      approved.add(id)
      void service.call('POST', `/v4/access-requests/${id}/approve`, { token, body: { connection_id } }).then(succeeded)
    }
    for (const [, id = ''] of text.matchAll(/approve-call\/(cal_\w+)/g)) {
      if (approved.has(id)) continue
      approved.add(id)
      void service.call('POST', `/v4/calls/${id}/approve`, { token, body: {} }).then(succeeded)
    }
  }

  const plain = plainEnvironment(newHome())
  const prefix = join(folder, 'prefix')
  const env = {
    ...plain,
    PATH: [bin, join(prefix, 'bin'), plain['PATH']].join(delimiter),
    SALLYPORT_URL: base,
    npm_config_prefix: prefix,
    npm_config_offline: 'true',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
  }
  const shell: DocsSetup['shell'] = async (script, changes = {}, cwd = clone) => {
    const child = spawn('sh', ['-e', '-c', script], {
      ...{ cwd, env: { ...env, ...changes } },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
      show(stderr)
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    t.after(() => child.kill('SIGKILL'))
    const code = await within(ended, `it did not end: ${script}\n${stdout}\n${stderr}`)
    if (code !== 0) throw new Error(`it ended with ${code}: ${script}\n${stdout}\n${stderr}`)
    return stdout
  }

  const { fingerprint } = (await service.call('GET', '/v1/authai/public-key')).body as { fingerprint: string }
  const ours: [string, string][] = [
    ['http://localhost:8787', base],
    ['http://127.0.0.1:8788', `http://127.0.0.1:${gatewayPort}`],
    ['api.github.com', host],
    ['git.example.com', ownGitHub.host],
    ['oauth2.googleapis.com', google.host],
    ['/path/to/sallyport', clone],
    ['pass show perplexity', 'echo pplx-a-key-of-sixteen-or-more'],
    ['/path/to/project', project],
    ['grt_…', calling.grantId],
    ['https://sallyport.example', base],
    ['SHA256:…', fingerprint],
  ]
  const fill = (code: string) => ours.reduce((text, [theirs, our]) => text.replaceAll(theirs, our), code)
  const keys = { privateKey: apps.credential.private_key, keyFile: accounts.credential.key_json }
  return { ...calling, keys, base, api: `https://${host}`, receiver, clone, project, env, fill, newHome, shell, show }
}

/** Like GitHub: 403 without a user-agent, and pagination with `link` headers. */
const answerAsGitHub: RequestListener = ({ method, url = '/', headers }, response) => {
  const { pathname, searchParams, origin } = new URL(url, `https://${headers.host ?? ''}`)
  const say = (status: number, body: unknown, more: Record<string, string> = {}) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...more }).end(JSON.stringify(body))
  }
  if (!headers['user-agent']) say(403, { message: 'Request forbidden by administrative rules.' })
  else if (!headers.authorization?.startsWith('Bearer ')) say(401, { message: 'Requires authentication' })
  else if (method !== 'GET') say(404, { message: 'Not Found' })
  else if (pathname === '/user') say(200, { login: 'octocat', id: 583231 })
  else if (pathname !== '/issues') say(404, { message: 'Not Found' })
  else if (searchParams.get('page') === '2') say(200, [{ number: 2, title: 'second' }])
  else {
    const next = new URL(pathname, origin)
    next.search = String(new URLSearchParams([...searchParams, ['page', '2']]))
    say(200, [{ number: 1, title: 'first' }], { link: `<${next.href}>; rel="next", <${next.href}>; rel="last"` })
  }
}
