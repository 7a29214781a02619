import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import {
  CreateToolKeyBody,
  CreateToolKeyReply,
  defaultKeySeconds,
  ToolKey as ToolKeyView,
  ToolKeyList,
} from '@sallyport/protocol/tool-keys'
import { actingAgent, onBehalfOf } from '../authenticate.ts'
import type { Http } from '../platform/http/http.ts'
import { createToolKey } from './create.ts'
import type { ToolKeyNeeds } from './create.ts'
import { revokeToolKey } from './revoke.ts'
import type { ToolKey } from './tool-key.ts'

const tags = ['Keys for tools']

export function toolKeyRoutes(http: Http, needs: ToolKeyNeeds): void {
  const { database, toolKeys, clock } = needs

  http.post(
    '/v4/agents/keys',
    {
      config: { allow: ['agent'] },
      schema: {
        tags,
        summary: 'Create a key for tools',
        description:
          "What this agent's tools use instead of its token, at base URLs and at the gateway alone. It ends with its " +
          'time, its grants, this agent, or when this agent rotates its token.',
        body: CreateToolKeyBody,
        response: { 201: CreateToolKeyReply },
      },
    },
    async (request, reply) => {
      const { grant_ids: grantIds, expires_in_seconds: lifetimeSeconds = defaultKeySeconds } = request.body
      const wanted = { grantIds, lifetimeSeconds }
      const { key, secret } = await createToolKey(onBehalfOf(request, needs), actingAgent(request), wanted, request.id)
      return reply.code(201).send({ ...termsOf(key), key: secret.reveal() })
    },
  )

  http.get(
    '/v4/agents/keys',
    {
      config: { allow: ['agent'] },
      schema: { tags, summary: 'List the keys for tools of this agent', response: { 200: ToolKeyList } },
    },
    async (request) => {
      const keys = await toolKeys.list(database.queries, actingAgent(request).agent.agentId, clock())
      return { keys: keys.map(view) }
    },
  )

  http.delete(
    '/v4/agents/keys/:id',
    {
      config: { allow: ['agent'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Revoke a key for tools',
        params: IdInPath,
        body: NoBody,
        response: { 200: ToolKeyView },
      },
    },
    async (request) => {
      const { agent } = actingAgent(request)
      return view(await revokeToolKey(onBehalfOf(request, needs), agent, request.params.id, request.id))
    },
  )
}

function view(key: ToolKey): ToolKeyView {
  return { ...termsOf(key), last_used_at: key.lastUsedAt?.toISOString() ?? null }
}

function termsOf({ keyId, grantIds, createdAt, expiresAt }: ToolKey) {
  return {
    key_id: keyId,
    grant_ids: [...grantIds],
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }
}
