/**
 * Calls of APIs. What a tool may do has to be said before it is called, and the method is known only then. So there are
 * two: read_api makes only calls that are safe by HTTP's own definition, and says that it is read-only; call_api makes
 * any, and says the worst of itself.
 */
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { makeCall } from './call.ts'
import { createKeptAnswers, partOf, rest } from './kept-answers.ts'
import { callOutput, readOutput, resultOutput, sandboxOutput } from './output-schemas.ts'
import type { McpNeeds } from './server.ts'
import { answering, asData, dataNote, facts, failed } from './tool-results.ts'

const shownByDefault = 20_000
const mostShown = 100_000

const call = {
  url: z.string().min(1).max(8192).describe('An https URL that a grant covers'),
  grant_id: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('As list_grants has it; left out: the newest that covers the URL, if all that do are for one account'),
  headers: z
    .record(z.string(), z.string())
    .optional()
    .describe('Credentials are put in by the service: leave them out'),
  follow_redirects: z.boolean().optional().describe('As far as the grant covers them'),
  timeout_seconds: z.int().min(1).max(300).optional().describe('60 unless said otherwise'),
  max_characters: z
    .int()
    .min(100)
    .max(mostShown)
    .default(shownByDefault)
    .describe('How much of the answer to show at once'),
}

const anyJson = z.union([
  z.string(),
  z.record(z.string(), z.unknown()),
  z.array(z.unknown()),
  z.number(),
  z.boolean(),
  z.null(),
])

export function callTools(server: McpServer, needs: McpNeeds): void {
  const { agent } = needs
  const kept = createKeptAnswers()

  server.registerTool(
    'read_api',
    {
      title: 'Read from an API',
      description: 'GET or HEAD on an API, with the account that a grant stands for. Changes nothing there.',
      inputSchema: z.strictObject({ method: z.enum(['GET', 'HEAD']).default('GET'), ...call }),
      outputSchema: readOutput,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    },
    (given, { signal }) => answering(() => makeCall({ ...needs, kept, signal }, { ...given, isReading: true })),
  )

  server.registerTool(
    'call_api',
    {
      title: 'Call an API',
      description:
        'Any method on an API, with the account that a grant stands for. It may change or delete things there; to read, use read_api.',
      inputSchema: z.strictObject({
        method: z
          .string()
          .regex(/^[A-Za-z-]{1,20}$/)
          .describe('GET, POST, PUT, PATCH, DELETE, …'),
        ...call,
        body: anyJson
          .optional()
          .describe(
            'A string is sent unchanged, anything else as JSON. Without a content-type header it goes as application/json, and a string that is no JSON object or array as text/plain',
          ),
        body_base64: z.base64().optional().describe('The bytes of the body instead, in base64'),
        idempotency_key: z
          .string()
          .min(1)
          .max(200)
          .optional()
          .describe('The same call with the same key reaches the API once'),
        dry_run: z.boolean().optional().describe('Only says whether the call would be made'),
      }),
      outputSchema: callOutput,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    },
    (given, { signal }) => answering(() => makeCall({ ...needs, kept, signal }, { ...given, isReading: false })),
  )

  server.registerTool(
    'read_result',
    {
      title: 'Read on in a long answer',
      description: 'More of an answer of read_api or call_api that was too long to be shown at once.',
      inputSchema: z.strictObject({
        result_id: z.string().min(1).max(100).describe('As the answer gave it'),
        offset: z.int().min(0).describe('The first character to show'),
        max_characters: call.max_characters,
      }),
      outputSchema: resultOutput,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    ({ result_id, offset, max_characters }) => {
      const found = kept.find(result_id)
      if (!found) {
        const message = 'There is no such result. The last 16 long answers of this session are kept.'
        return failed({ error: { code: 'no_result', message }, next: 'Make the call again.' })
      }
      const { source, text } = found
      if (offset >= text.length) {
        return failed({ error: { code: 'past_the_end', message: `The answer has ${text.length} characters.` } })
      }
      const { part, end } = partOf(text, offset, max_characters)
      return {
        content: [{ type: 'text', text: `${asData(source, part)}\n${rest(result_id, end, text.length)}` }],
        structuredContent: {
          ...{ result_id, offset, next_offset: end < text.length ? end : null, length: text.length },
          data: { note: dataNote(source), body: part },
        },
      }
    },
  )

  server.registerTool(
    'sandbox',
    {
      title: 'Start a sandbox',
      description:
        'A grant for an API that echoes what it was sent: the whole way, without a person or a real account. Ends the sandbox before it.',
      inputSchema: z.strictObject({}),
      outputSchema: sandboxOutput,
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    },
    (_given, { signal }) =>
      answering(async () => {
        const { grant_id, echo_url, expires_at } = await agent().sandbox({ signal })
        const next =
          'Call read_api or call_api with this grant_id and echo_url as url. The token that the echo got shows as [REDACTED].'
        return facts({ grant_id, echo_url, expires_at, next })
      }),
  )
}
