/**
 * Streamable HTTP on loopback only. It acts for an agent, so it requires a token. Requests of web pages are rejected
 * before the token is checked, including those by DNS rebinding.
 */
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpServer } from './server.ts'
import type { McpNeeds } from './server.ts'

interface Session {
  transport: StreamableHTTPServerTransport
  usedAt: number
  close: () => Promise<void>
}

const mostSessions = 32
const mostBodyBytes = 4 * 1024 * 1024

export function createHttpServer(needs: McpNeeds, token: string): { server: Server; close: () => Promise<void> } {
  const sessions = new Map<string, Session>()
  const expected = hash(`Bearer ${token}`)

  async function open(): Promise<StreamableHTTPServerTransport> {
    const mcp = createMcpServer(needs)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: async (id) => {
        sessions.set(id, { transport, usedAt: Date.now(), close: () => mcp.close() })
        await dropOldest()
      },
    })
    mcp.server.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
    }
    await mcp.connect(transport)
    return transport
  }

  async function dropOldest(): Promise<void> {
    if (sessions.size <= mostSessions) return
    const [oldest] = [...sessions.values()].sort((one, other) => one.usedAt - other.usedAt)
    await oldest?.close()
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const port = request.socket.localPort ?? 0
    const { host = '', origin, authorization = '' } = request.headers
    if (![`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`].includes(host)) {
      refuse(response, 421, 'Unknown Host header.')
    } else if (origin !== undefined && ![`http://127.0.0.1:${port}`, `http://localhost:${port}`].includes(origin)) {
      refuse(response, 403, 'Requests from other origins are not allowed.')
    } else if (request.url?.split('?', 1)[0] !== '/mcp') {
      refuse(response, 404, 'The endpoint is /mcp.')
    } else if (!timingSafeEqual(hash(authorization), expected)) {
      response.setHeader('www-authenticate', 'Bearer')
      refuse(response, 401, `Send this server's token as "Authorization: Bearer …".`)
    } else if (Number(request.headers['content-length'] ?? 0) > mostBodyBytes) {
      refuse(response, 413, 'The body is larger than 4 MiB.')
    } else {
      const id = request.headers['mcp-session-id']
      const session = typeof id === 'string' ? sessions.get(id) : undefined
      if (id !== undefined && !session) {
        refuse(response, 404, 'No such session. Start with initialize.')
        return
      }
      if (session) session.usedAt = Date.now()
      await (session?.transport ?? (await open())).handleRequest(request, response)
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => {
      if (response.headersSent) response.destroy()
      else refuse(response, 500, 'Internal error.')
    })
  })
  return {
    server,
    close: async () => {
      for (const session of [...sessions.values()]) await session.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) =>
        server.close(() => {
          resolve()
        }),
      )
    },
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  // The rest of the body is not read.
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
