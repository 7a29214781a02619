/**
 * Asks a user for access. A client that can show links itself (elicitation in URL mode) shows it, and the tool waits
 * for the decision. Otherwise the result contains the link, for the model to pass on.
 */
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { AccessRequest, AgentClient } from '@sallyport/sdk'
import { z } from 'zod'
import { pending, settled, waitSeconds } from './decision.ts'
import type { Extra } from './decision.ts'
import { accessOutput } from './output-schemas.ts'
import type { McpNeeds } from './server.ts'
import { answering, failed } from './tool-results.ts'

const list = (what: string, most: number) =>
  z.array(z.string().min(1).max(1024)).min(1).max(most).optional().describe(what)

export function requestAccessTool(server: McpServer, { agent }: McpNeeds): void {
  server.registerTool(
    'request_access',
    {
      title: 'Request access',
      description:
        'Asks a person to let this agent use their account with a provider. The person can approve less than is requested here, never more.',
      inputSchema: z.strictObject({
        provider: z
          .string()
          .min(1)
          .max(100)
          .describe('From list_providers. "sandbox" is approved immediately and reaches only an echo endpoint'),
        reason: z
          .string()
          .min(1)
          .max(1000)
          .describe('Why access is needed, in one sentence. Shown to the person who decides'),
        hosts: list('Only these API hosts. Default: all of the provider', 50),
        methods: list('Only these HTTP methods. Default: any', 20),
        paths: list('Only these paths and everything under them; * matches one segment', 50),
        max_calls: z.int().min(1).max(1_000_000_000).optional().describe('Call limit'),
        user_id: z.string().min(1).max(254).optional().describe('Who should decide: a user_id or an email address'),
        wait_seconds: waitSeconds.default(50),
      }),
      outputSchema: accessOutput,
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    },
    ({ wait_seconds, ...wanted }, extra) =>
      answering(async () => {
        const client = agent()
        const { signal } = extra
        const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
        const asked = await client.requestAccess({ ...given, provider: wanted.provider }, { signal })
        if (asked.status !== 'pending') return settled(client, asked, 0, extra)
        const showsLinks = server.server.getClientCapabilities()?.elicitation?.url !== undefined
        return showsLinks ? elicited(server, client, asked, wait_seconds, extra) : pending(asked)
      }),
  )
}

async function elicited(
  { server }: McpServer,
  agent: AgentClient,
  asked: AccessRequest,
  seconds: number,
  extra: Extra,
): Promise<CallToolResult> {
  const { access_request_id: id, approval_url: url, provider_name: name, verified } = asked
  const over = new AbortController()
  const signal = AbortSignal.any([extra.signal, over.signal])
  // Start waiting now: the user may decide on a phone before they respond to the client.
  const decision = settled(agent, asked, seconds, extra, signal)
  decision.catch(() => undefined)
  const message = `Open this page to decide whether the agent may use your account with ${name}${verified ? '' : ', an unverified provider'}.`
  const shown = server
    .elicitInput(
      { mode: 'url', message, url, elicitationId: id },
      { signal, timeout: (seconds + 1) * 1000, relatedRequestId: extra.requestId },
    )
    .then(
      ({ action }) => action,
      // The client failed to show the link, so the model has to pass it on.
      () => 'failed' as const,
    )
  try {
    const first = await Promise.race([decision.then(() => 'decided' as const), shown])
    if (first === 'cancel' || (first === 'failed' && !extra.signal.aborted)) return pending(asked)
    if (first === 'decline') {
      await agent.cancelRequest(id)
      return failed({
        error: { code: 'declined', message: 'The person declined to open the link. The request was cancelled.' },
        next: 'Do not request the same access again unless the person asks for it.',
      })
    }
    const result = await decision
    if (first === 'accept') {
      // Use the stream of this call: a client may not listen to another one.
      const notify = server.createElicitationCompletionNotifier(id, { relatedRequestId: extra.requestId })
      await notify().catch(() => undefined)
    }
    return result
  } finally {
    over.abort()
    // The client cancelled and will never learn the request's id, so cancel the request.
    if (extra.signal.aborted) await agent.cancelRequest(id).catch(() => undefined)
  }
}
