import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { Provider } from '@sallyport/sdk'
import { z } from 'zod'
import { take } from '../listed.ts'
import { settled, waitSeconds } from './decision.ts'
import { grantFacts } from './grant-facts.ts'
import { accessOutput, grantsOutput, providersOutput } from './output-schemas.ts'
import type { McpNeeds } from './server.ts'
import { answering, facts } from './tool-results.ts'

const readOnly = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
const mostListed = 100

export function accessTools(server: McpServer, { agent, anyone }: McpNeeds): void {
  server.registerTool(
    'list_providers',
    {
      title: 'List providers',
      description: 'Lists the providers you can request access to, with their API hosts.',
      inputSchema: z.strictObject({}),
      outputSchema: providersOutput,
      annotations: readOnly,
    },
    (_given, { signal }) =>
      answering(async () => {
        const providers = await take<Provider>(anyone().providers.list({}, { signal }), mostListed)
        return facts({
          providers: providers.map(({ slug, provider_name, api_hosts, verified }) => ({
            provider: slug,
            provider_name,
            api_hosts,
            verified,
          })),
          next: 'Pass "provider" to request_access. verified: false means that an agent proposed the provider and no administrator has verified it.',
        })
      }),
  )

  server.registerTool(
    'list_grants',
    {
      title: 'List grants',
      description:
        "Lists this agent's grants: account, hosts, methods, paths, call limit, expiry, and which calls a person has to approve.",
      inputSchema: z.strictObject({
        status: z.enum(['active', 'revoked', 'expired', 'all']).default('active').describe('Filter by status'),
      }),
      outputSchema: grantsOutput,
      annotations: readOnly,
    },
    ({ status }, { signal }) =>
      answering(async () => {
        const grants = await take(agent().grants(status === 'all' ? {} : { status }, { signal }), mostListed)
        return facts({
          grants: grants.map(grantFacts),
          next:
            grants.length === 0
              ? 'Request access with request_access, or try the sandbox.'
              : 'Pass grant_id to read_api or call_api.',
        })
      }),
  )

  server.registerTool(
    'check_access',
    {
      title: 'Check an access request',
      description: 'Checks the status of an access request. Can wait for the person to decide.',
      inputSchema: z.strictObject({
        access_request_id: z.string().min(1).max(100).describe('From request_access'),
        wait_seconds: waitSeconds.default(0),
      }),
      outputSchema: accessOutput,
      annotations: { ...readOnly, openWorldHint: true },
    },
    ({ access_request_id, wait_seconds }, extra) =>
      answering(async () =>
        settled(agent(), await agent().accessRequest(access_request_id, extra), wait_seconds, extra),
      ),
  )
}
