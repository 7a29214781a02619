import { command } from '../command.ts'

export const mcp = command({
  name: 'mcp',
  group: 'agent',
  summary: 'run an MCP server for agents, on standard input and output or over HTTP',
  about: `The MCP client starts it; docs/mcp.md shows how to configure common clients. Address and token come from the
profile or the environment. Over HTTP it listens on localhost only and requires a bearer token: SALLYPORT_MCP_TOKEN,
or one that it generates and stores in a file whose path it prints.`,
  options: {
    http: { type: 'boolean', summary: 'use Streamable HTTP instead of standard input and output' },
    port: {
      type: 'number',
      value: 'PORT',
      range: [0, 65_535],
      summary: 'port for --http (default: 8791; 0 for any free port)',
    },
  },
  examples: [
    ['sallyport mcp', 'what an MCP client runs'],
    ['sallyport mcp --http --port 8791', 'for clients that connect to http://127.0.0.1:8791/mcp'],
  ],
  run: async (shell, { http, port }) => {
    // Loaded on demand: it is most of the code.
    const { serveStdio, serveHttp } = await import('../mcp/serve.ts')
    await (http ? serveHttp(shell, port ?? 8791) : serveStdio(shell))
    return undefined
  },
})
