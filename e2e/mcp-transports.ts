/** `sallyport mcp` over each of its transports, driven by the official client. */
import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js'
import type { AgentSide } from './agent-side.ts'
import { executable } from './command-line.ts'
import type { CommandLine, Running } from './command-line.ts'
import { connected } from './mcp-session.ts'
import type { Session } from './mcp-session.ts'

export const mcpToken = 'a-token-of-this-test-alone'

export interface Transport {
  kind: 'standard input and output' | 'Streamable HTTP'
  connect: (capabilities?: ClientCapabilities) => Promise<Session>
  /** A separate stdio server with another environment. */
  connectIn: (env: Record<string, string>) => Promise<Session>
  cli: () => CommandLine & { token: string }
  /** The server, if one is shared by all clients. */
  server: () => Running | undefined
}

export function overEachTransport(shared: () => AgentSide, tests: (transport: Transport) => void): void {
  for (const kind of ['standard input and output', 'Streamable HTTP'] as const) {
    describe(`over ${kind}`, () => {
      let cli: (CommandLine & { token: string }) | undefined
      let server: Running | undefined
      let url = ''
      const clients: Client[] = []
      const newClient = (capabilities: ClientCapabilities = {}) => {
        const client = new Client({ name: 'a test', version: '1' }, { capabilities })
        clients.push(client)
        return client
      }
      const overStdio = (client: Client, env: Record<string, string>) =>
        connected(client, new StdioClientTransport({ command: process.execPath, args: [executable, 'mcp'], env }))
      const registered = () => {
        if (!cli) throw new Error('not started yet')
        return cli
      }

      before(async () => {
        cli = await shared().registered('A model')
        if (kind !== 'Streamable HTTP') return
        server = cli.start(['mcp', '--http', '--port', '0'], { env: { SALLYPORT_MCP_TOKEN: mcpToken } })
        url = /http:\S+/.exec(await server.until(/\/mcp\n/))?.[0] ?? ''
      })
      after(async () => {
        for (const client of clients) await client.close()
        server?.signal('SIGTERM')
        if (server) assert.equal((await server.ended).code, 0)
      })

      tests({
        kind,
        connect: async (capabilities) => {
          const client = newClient(capabilities)
          if (kind !== 'Streamable HTTP') return overStdio(client, { ...registered().env })
          const headers = { authorization: `Bearer ${mcpToken}` }
          return connected(client, new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
        },
        connectIn: (env) => overStdio(newClient(), env),
        cli: registered,
        server: () => server,
      })
    })
  }
}
