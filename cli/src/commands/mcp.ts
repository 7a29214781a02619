import { command } from '../command.ts'

export const mcp = command({
  name: 'mcp',
  group: 'agent',
  summary: 'serve the agent’s side to an MCP client, on standard input and output or over HTTP',
  about: `The client starts it; docs/mcp.md has the configuration of the common ones. Address and token come from the
profile or the environment. Over HTTP it listens on this machine alone and wants a bearer token: that of
SALLYPORT_MCP_TOKEN, or one that is made and kept in a file whose place is printed.`,
  options: {
    http: { type: 'boolean', summary: 'Streamable HTTP instead of standard input and output' },
    port: {
      type: 'number',
      value: 'PORT',
      range: [0, 65_535],
      summary: 'where to listen with --http; 8788 unless said otherwise, 0 for any',
    },
  },
  examples: [
    ['sallyport mcp', 'what a client runs'],
    ['sallyport mcp --http --port 8788', 'for clients that connect: http://127.0.0.1:8788/mcp'],
  ],
  run: async (shell, { http, port }) => {
    // Loaded where it is needed: it is most of what there is to load.
    const { serveStdio, serveHttp } = await import('../mcp/serve.ts')
    await (http ? serveHttp(shell, port ?? 8788) : serveStdio(shell))
    return undefined
  },
})
