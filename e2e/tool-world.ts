/**
 * The setting of `sallyport run` in tests: a service with its gateway, an internet of real TLS servers with real names, a
 * person who approves, and a home folder for the command line.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from 'node:http'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { freePort } from '../server/testkit/ports.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import type { AnswerHandshake } from '../server/testkit/tls-upstream.ts'
import { commandLineIn } from './command-line.ts'
import type { CommandLine, Ended, RunOptions, Running } from './command-line.ts'
import { signIn, succeeded } from './person.ts'
import { dataFolder, roomy, startService } from './running-service.ts'
import type { Environment, RunningService } from './running-service.ts'

export interface Site {
  /** What it was asked, in order. */
  seen: { method: string; url: string; headers: IncomingHttpHeaders }[]
}

export interface ToolWorld {
  service: RunningService
  /**
   * A home folder with an agent in its profile. Each test has its own. Without a profile the agent is in the environment, which
   * saves a process.
   */
  agent: (options?: { hasProfile: boolean }) => Promise<Agent>
  /** The person's account at a provider, by key. Returns its connection_id. */
  connect: (slug: string, credential: object, authMethod?: string) => Promise<string>
  /** Adds an API that takes this key as a bearer token. */
  addApi: (slug: string, hosts: string[], key: string, more?: object) => Promise<string>
  /** Puts a server behind these names. */
  serve: (names: string[], answer: RequestListener, onHandshake?: AnswerHandshake) => Promise<Site>
  /** What a name resolves to, in turn. The last address is the answer from then on. */
  rebind: (name: string, addresses: string[]) => void
  call: RunningService['call']
  personToken: string
  caFile: string
}

export interface Agent {
  cli: CommandLine
  agentId: string
  token: string
  grant: (slug: string, connectionId: string, terms?: object) => Promise<string>
  /** `sallyport` with these words. */
  start: (words: string[], options?: RunOptions) => Running
  run: (words: string[], options?: RunOptions) => Promise<Ended>
  startShell: () => Running
}

/** One for all tests of a file. */
export function sharedToolWorld(
  prepare: (world: ToolWorld) => Promise<void>,
  settings: Environment = {},
): () => ToolWorld {
  const hooks: (() => unknown)[] = []
  let world: ToolWorld | undefined
  before(async () => {
    world = await startToolWorld({ after: (hook) => hooks.push(hook as () => unknown) }, settings)
    await prepare(world)
  })
  after(async () => {
    for (const hook of hooks.reverse()) await hook()
  })
  return () => {
    if (!world) throw new Error('not started yet')
    return world
  }
}

type Scope = Parameters<typeof startService>[0]
const internet = `--import=${new URL('./internet.mjs', import.meta.url).pathname}`

async function startToolWorld(t: Scope, settings: Environment): Promise<ToolWorld> {
  const folder = dataFolder(t)
  const authority = await sharedAuthority()
  const names = join(folder, 'internet.json')
  const sites: Record<string, { addresses: string[]; port: number }> = {}
  const publish = () => {
    writeFileSync(names, JSON.stringify(sites))
  }
  publish()
  const ofInternet = { TEST_INTERNET: names }
  const service = await startService(t, 'sqlite', {
    ...roomy,
    SALLYPORT_EGRESS_ALLOW: '93.184.216.0/24',
    SALLYPORT_EGRESS_CA_FILE: authority.caFile,
    SALLYPORT_ACCESS_REQUESTS_PER_HOUR: '1000',
    SALLYPORT_GATEWAY_PORT: String(await freePort()),
    NODE_OPTIONS: internet,
    ...ofInternet,
    ...settings,
  })
  const base = `http://localhost:${service.port}`
  const { token: personToken } = await signIn(service)

  const serve: ToolWorld['serve'] = async (hosts, answer, onHandshake) => {
    const seen: Site['seen'] = []
    const certificate = await authority.issue({ names: hosts })
    const sees = ({ method = '', url = '', headers }: IncomingMessage) => seen.push({ method, url, headers })
    const answerSeen: RequestListener = (request, response) => {
      sees(request)
      answer(request, response)
    }
    const { port } = await startTlsUpstream(t, certificate, answerSeen, {
      onHandshake:
        onHandshake &&
        ((request, socket) => {
          sees(request)
          onHandshake(request, socket)
        }),
    })
    for (const name of hosts) sites[name] = { addresses: [`93.184.216.${Object.keys(sites).length + 1}`], port }
    publish()
    return { seen }
  }
  const connect: ToolWorld['connect'] = async (slug, credential, authMethod) => {
    const body = { provider_slug: slug, credential, ...(authMethod !== undefined && { auth_method: authMethod }) }
    const made = await service.call('POST', '/v4/connections', { token: personToken, body })
    return succeeded(made).body.connection_id as string
  }
  let homes = 0
  return {
    ...{ service, personToken, caFile: authority.caFile, call: service.call, serve, connect },
    addApi: async (slug, hosts, key, more = {}) => {
      const inject = [{ in: 'header', name: 'authorization', template: 'Bearer {api_key}' }]
      const provider = {
        provider_name: slug,
        slug,
        api_hosts: hosts,
        auth_methods: [{ kind: 'api_key', inject }],
        ...more,
      }
      succeeded(await service.call('POST', '/v4/providers', { token: service.adminToken, body: provider }))
      return connect(slug, { api_key: key })
    },
    rebind: (name, addresses) => {
      const site = sites[name]
      if (!site) throw new Error(`nothing is at ${name}`)
      sites[name] = { ...site, addresses }
      publish()
    },
    agent: async ({ hasProfile } = { hasProfile: true }) => {
      const { agentId, token } = await service.register('a tool user')
      const home = join(folder, `home-${++homes}`)
      mkdirSync(home)
      const cli = commandLineIn(home)
      t.after(cli.stop)
      if (hasProfile) {
        const set = await cli.run(['profile', 'set', '--url', base, '--agent-token-file', '-'], { input: token })
        if (set.code !== 0) throw new Error(set.stderr)
      }
      const given = { SALLYPORT_URL: base, SALLYPORT_AGENT_TOKEN: token }
      const inInternet = ({ env = {}, ...options }: RunOptions = {}): RunOptions => ({
        nodeOptions: [internet],
        // What the machine trusts, in the test.
        env: { ...ofInternet, SSL_CERT_FILE: authority.caFile, ...(!hasProfile && given), ...env },
        ...options,
      })
      return {
        ...{ cli, agentId, token },
        grant: async (slug, connectionId, terms = {}) => {
          const asked = await service.call('POST', '/v4/access-requests', { token, body: { provider: slug } })
          const { access_request_id: id } = succeeded(asked).body as { access_request_id: string }
          const body = { connection_id: connectionId, ...terms }
          const approved = await service.call('POST', `/v4/access-requests/${id}/approve`, { token: personToken, body })
          return succeeded(approved).body.grant_id as string
        },
        start: (words, options) => cli.start(words, inInternet(options)),
        run: (words, options) => cli.run(words, inInternet(options)),
        startShell: () => cli.startShell(inInternet()),
      }
    },
  }
}

/** A secret as long as real ones. */
export function newKey(): string {
  return `live_${randomBytes(20).toString('hex')}`
}
