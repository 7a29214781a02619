import { once } from 'node:events'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { asAgent, asAnyone } from '../clients.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailure } from '../failures.ts'
import { codeOf } from '../config-folder.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'
import { createHttpServer } from './http-server.ts'
import { mcpToken } from './mcp-token.ts'
import { createMcpServer } from './server.ts'
import type { McpNeeds } from './server.ts'

/** Read for each call, so that an agent that registers meanwhile is found without a restart. */
function needsOf(shell: Shell): McpNeeds {
  return { agent: () => asAgent(shell), anyone: () => asAnyone(shell) }
}

/** Runs until the client disconnects. Standard output belongs to the protocol: write nothing else to it. */
export async function serveStdio(shell: Shell): Promise<void> {
  const server = createMcpServer(needsOf(shell))
  const ended = new Promise<void>((resolve) => {
    server.server.onclose = resolve
  })
  server.server.onerror = (error) => {
    shell.output.say(`sallyport mcp: ${inLine(error.message)}`)
  }
  await server.connect(new StdioServerTransport())
  const close = () => void server.close()
  process.stdin.once('end', close)
  shell.interrupted.addEventListener('abort', close)
  await ended
}

export async function serveHttp(shell: Shell, port: number): Promise<void> {
  const { output, interrupted } = shell
  const { token, place } = mcpToken(shell)
  const { server, close } = createHttpServer(needsOf(shell), token)
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch (error) {
    throw new CommandFailure(exitCodes.unexpected, `can't listen on 127.0.0.1:${port} (${codeOf(error)})`)
  }
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? port) : port}/mcp`
  if (shell.json) output.jsonLine({ url, token_from: place })
  else {
    output.line(url)
    output.say(`Clients send "Authorization: Bearer …" with the token from ${place}. Press Ctrl-C to stop.`)
  }
  if (!interrupted.aborted) await once(interrupted, 'abort')
  await close()
}
