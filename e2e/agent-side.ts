/**
 * The setup for tests of the command line and the MCP server: a service, a user, and an upstream with many behaviours.
 */
import { mkdirSync } from 'node:fs'
import type { RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before } from 'node:test'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { commandLineIn } from './command-line.ts'
import type { CommandLine } from './command-line.ts'
import { succeeded } from './person.ts'
import { dataFolder } from './running-service.ts'
import type { Environment } from './running-service.ts'

/** Escape sequences: clears the screen, sets the title, red text, carriage return, and bidirectional overrides. */
export const hostileText = 'before\u001b[2J\u001b]0;owned\u0007\u001b[31m\rafter\u202egpj.exe\u009b31m\n'
export const binary = Buffer.from([0, 0xff, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x0a])
/** Longer than the part that a model is shown at once, with characters of two UTF-16 units. */
export const longText = '𝕊allyport. '.repeat(6000)

export interface AgentSide extends Calling {
  base: string
  host: string
  upstream: (path: string) => string
  /** Lets /stream finish. */
  release: () => void
  /** How many requests the upstream got. */
  requests: string[]
  /** An empty home folder. */
  home: (environment?: Environment) => CommandLine
  /** A home folder with a new agent in its profile. */
  registered: (name?: string) => Promise<CommandLine & { agentId: string; token: string }>
  /** An agent with a grant, made without the command line. */
  admitted: (terms?: object) => Promise<{ token: string; grantId: string }>
  approve: (accessRequestId: string, terms?: object) => Promise<string>
  deny: (accessRequestId: string, reason?: string) => Promise<void>
}

/** One for all tests of a file. */
export function sharedAgentSide(settings: Environment = {}): () => AgentSide {
  const hooks: (() => unknown)[] = []
  let side: AgentSide | undefined
  before(async () => {
    side = await startAgentSide({ after: (hook) => hooks.push(hook as () => unknown) }, settings)
  })
  after(async () => {
    for (const hook of hooks.reverse()) await hook()
  })
  return () => {
    if (!side) throw new Error('not started yet')
    return side
  }
}

type Scope = Parameters<typeof startCalling>[0]

async function startAgentSide(t: Scope, settings: Environment): Promise<AgentSide> {
  const certificate = await (await sharedAuthority()).issue({ names: ['localhost'], addresses: ['127.0.0.1'] })
  const streams: ServerResponse[] = []
  const { port, requests } = await startTlsUpstream(t, certificate, answering(streams))
  const host = `localhost:${port}`
  const calling = await startCalling(t, 'sqlite', {
    hosts: [host],
    settings: { SALLYPORT_ACCESS_REQUESTS_PER_HOUR: '1000', ...settings },
  })
  const { service, personToken, connectionId } = calling
  const base = `http://localhost:${service.port}`
  const folder = dataFolder(t)
  let homes = 0
  const home = (environment: Environment = {}) => {
    const place = join(folder, `home-${++homes}`)
    mkdirSync(place)
    const cli = commandLineIn(place, { SALLYPORT_URL: base, ...environment })
    t.after(cli.stop)
    return cli
  }
  const approve = async (id: string, terms: object = {}) => {
    const body = { connection_id: connectionId, ...terms }
    const reply = await service.call('POST', `/v4/access-requests/${id}/approve`, { token: personToken, body })
    return succeeded(reply).body.grant_id as string
  }
  return {
    ...calling,
    base,
    host,
    requests,
    upstream: (path) => `https://${host}${path}`,
    release: () => {
      for (const response of streams.splice(0)) response.end('the end\n')
    },
    home,
    registered: async (name = 'Mail helper') => {
      const cli = home()
      const { code, stdout, stderr } = await cli.run(['register', name])
      if (code !== 0) throw new Error(stderr)
      const [token = ''] = cli.secrets()
      return { ...cli, agentId: stdout.trim(), token }
    },
    admitted: async (terms) => {
      const { token } = await service.register('Mail helper')
      const asked = await service.call('POST', '/v4/access-requests', { token, body: { provider: 'acme' } })
      return { token, grantId: await approve(succeeded(asked).body.access_request_id, terms) }
    },
    approve,
    deny: async (id, reason) => {
      const body = { ...(reason !== undefined && { reason }) }
      succeeded(await service.call('POST', `/v4/access-requests/${id}/deny`, { token: personToken, body }))
    },
  }
}

function answering(streams: ServerResponse[]): RequestListener {
  return (request, response) => {
    const say = (type: string, body: string | Buffer, status = 200) => {
      response.writeHead(status, { 'content-type': type, 'x-upstream': 'yes' }).end(body)
    }
    const path = request.url?.split('?')[0]
    if (path === '/hello') say('text/plain', 'hello')
    else if (path === '/json') say('application/json', '{"name":"Ada","id":9007199254740993}')
    else if (path === '/binary') say('application/octet-stream', binary)
    else if (path === '/hostile') say('text/plain; charset=utf-8', hostileText)
    else if (path === '/hostile.json') say('application/json', JSON.stringify({ note: hostileText }))
    else if (path === '/missing') say('application/json', '{"message":"no such thing"}', 404)
    else if (path === '/broken') say('text/plain', 'oh no', 500)
    else if (path === '/long') say('text/plain; charset=utf-8', longText)
    else if (path === '/redirect') {
      const to = new URL(request.url ?? '', 'https://localhost').searchParams.get('to') ?? '/hello'
      response.writeHead(302, { location: to }).end()
    } else if (path === '/hang-up') {
      response.write('half of ')
      setImmediate(() => response.destroy())
    } else if (path === '/stream') {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('the first of it\n')
      streams.push(response)
    } else {
      void buffer(request).then((body) => {
        const { method, headers, url } = request
        say('application/json', JSON.stringify({ method, url, headers, body: body.toString('base64') }))
      })
    }
  }
}
