/**
 * How each kind of agent is set up to use this service, as text to copy. None of it contains a credential: the command
 * line keeps the agent's token in its profile.
 */
import { mcpConfig } from '../grants/tool-settings.ts'

export const clients = {
  'claude-code': 'Claude Code',
  'claude-desktop': 'Claude Desktop',
  cursor: 'Cursor',
  codex: 'Codex',
  mcp: 'MCP app',
  run: 'Command line',
  sdk: 'SDK',
  curl: 'curl',
} as const
export type Client = keyof typeof clients

export interface SetUpStep {
  title: string
  lead: string
  text: string
}

export function isClient(name: string | null): name is Client {
  return name !== null && Object.hasOwn(clients, name)
}

export function stepsFor(client: Client, base: string): SetUpStep[] {
  switch (client) {
    case 'claude-code':
      return viaCommandLine(client, base, {
        title: 'Add the MCP server',
        lead: 'In a terminal. Claude Code starts the server by itself from then on.',
        text: `claude mcp add sallyport -- sallyport mcp --profile ${client}`,
      })
    case 'claude-desktop':
      return viaCommandLine(client, base, inFile('claude_desktop_config.json', 'Claude Desktop', client))
    case 'cursor':
      return viaCommandLine(client, base, inFile('~/.cursor/mcp.json', 'Cursor', client))
    case 'codex':
      return viaCommandLine(client, base, {
        title: 'Add the MCP server',
        lead: 'Add this to ~/.codex/config.toml, then restart Codex.',
        text: `[mcp_servers.sallyport]\ncommand = "sallyport"\nargs = ["mcp", "--profile", "${client}"]`,
      })
    case 'mcp':
      return viaCommandLine(client, base, {
        title: 'Add the MCP server',
        lead: 'Most apps read a file like this. For one that only speaks HTTP, run “sallyport mcp --http”: it prints the address and where its token is.',
        text: mcpConfig(client),
      })
    case 'run':
      return viaCommandLine(client, base, {
        title: 'Put “sallyport run” before a command',
        lead: 'git, gh, curl, aws and programs in Python or Node work as they are. The first time, this asks you for access and waits.',
        text: `sallyport run --profile ${client} --request github -- gh pr list`,
      })
    case 'sdk':
      return viaSdk(base)
    case 'curl':
      return viaHttp(base)
  }
}

/** An agent of its own for each client: what one may do, the others may not. */
function viaCommandLine(client: Client, base: string, last: SetUpStep): SetUpStep[] {
  return [
    {
      title: 'Install the command line',
      lead: 'In a clone of Sallyport, with Node 20 or newer. Skip this if “sallyport --version” works.',
      text: 'npm pack -w cli && npm install --global ./sallyport-cli-0.1.0.tgz',
    },
    {
      title: 'Register an agent',
      lead: 'Its token is saved in a profile that only you can read. It grants nothing until you approve a request.',
      text: `sallyport register "${clients[client]}" --profile ${client} --url ${base}`,
    },
    last,
  ]
}

function inFile(file: string, app: string, client: Client): SetUpStep {
  return {
    title: 'Add the MCP server',
    lead: `Put this into ${file}, then restart ${app}. If the file lists other servers, add only the line “sallyport”.`,
    text: mcpConfig(client),
  }
}

function viaSdk(base: string): SetUpStep[] {
  return [
    {
      title: 'Install the SDK',
      lead: 'It has no dependencies. It runs on Node 20 and newer, Deno, Bun, and in browsers.',
      text: 'cd /path/to/sallyport && npm pack -w sdk\ncd /path/to/project && npm install /path/to/sallyport/sallyport-sdk-0.1.0.tgz',
    },
    {
      title: 'Register an agent and try the sandbox',
      lead: 'Keep the access token where only the agent can read it. The sandbox needs no approval.',
      text: `import { createAgentClient, registerAgent } from '@sallyport/sdk'

const baseUrl = '${base}'
const { access_token } = await registerAgent({ baseUrl, name: 'Release notes' })
const agent = createAgentClient({ baseUrl, token: access_token })

const { grant_id, echo_url } = await agent.sandbox()
const { status, body } = await agent.proxy({ grant_id, method: 'GET', url: echo_url })
console.log(status, body)`,
    },
    {
      title: 'Ask for access to an account',
      lead: 'You decide at the address that it prints. The grant then works with any library that takes a fetch.',
      text: `const asked = await agent.requestAccess({ provider: 'github', methods: ['GET'], reason: 'To list your open issues' })
console.log(\`Please decide at \${asked.approval_url}\`)
const { grant_id } = await agent.waitForGrant(asked.access_request_id)`,
    },
  ]
}

function viaHttp(base: string): SetUpStep[] {
  return [
    {
      title: 'Tell the agent where to look',
      lead: 'For an agent that can make HTTP requests. Everything it needs to know is at that address, so this may be all you do.',
      text: `Read ${base}/llms.txt and follow it to ask me for the access you need.`,
    },
    {
      title: 'Or register one yourself',
      lead: 'The token stays in the shell’s variable. It grants nothing until you approve a request.',
      text: `SALLYPORT_URL=${base}
SALLYPORT_AGENT_TOKEN=$(curl -s "$SALLYPORT_URL/v4/agents/register" -H 'content-type: application/json' \\
  -d '{"name": "Release notes"}' | sed -n 's/.*"access_token":"\\([^"]*\\)".*/\\1/p')`,
    },
    {
      title: 'Ask for access to an account',
      lead: 'The answer has approval_url, where you decide.',
      text: `curl -s "$SALLYPORT_URL/v4/access-requests" -H "authorization: Bearer $SALLYPORT_AGENT_TOKEN" \\
  -H 'content-type: application/json' -d '{"provider": "github", "methods": ["GET"], "reason": "To list your open issues"}'`,
    },
  ]
}
