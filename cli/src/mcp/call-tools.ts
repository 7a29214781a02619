/**
 * Tools that call APIs. A tool's annotations are fixed before it is called, when the method is not yet known. So there
 * are two: read_api makes only calls with safe methods (RFC 9110) and is annotated as read-only. call_api makes any
 * call and is annotated as destructive.
 */
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { earlierResult, makeCall } from './call.ts'
import { waitSeconds } from './decision.ts'
import { createKeptAnswers, partOf, rest } from './kept-answers.ts'
import { callOutput, cancelledOutput, readOutput, resultOutput, sandboxOutput } from './output-schemas.ts'
import type { McpNeeds } from './server.ts'
import { answering, asData, dataNote, facts, failed } from './tool-results.ts'

const shownByDefault = 20_000
const mostShown = 100_000

const call = {
  url: z.string().min(1).max(8192).describe('An https URL covered by a grant'),
  grant_id: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('A grant id from list_grants. Optional if all grants that cover the URL are for the same account'),
  headers: z.record(z.string(), z.string()).optional().describe('Omit credentials: the service adds them'),
  follow_redirects: z.boolean().optional().describe('Follow redirects that the grant covers'),
  reason: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('Why you make this call, in one sentence. Shown to the person if they have to approve it'),
  wait_seconds: waitSeconds.default(20),
  timeout_seconds: z.int().min(1).max(300).optional().describe('Default: 60'),
  max_characters: z
    .int()
    .min(100)
    .max(mostShown)
    .default(shownByDefault)
    .describe('Maximum number of characters of the response to show'),
}

const callId = z.string().min(1).max(100).describe('From a result with the status "waiting"')

const mayWait =
  'A person may have to approve the call: then the result has the status "waiting" and a link. Show them the link, and get the response with call_result. Never change or repeat a call because it waits.'

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
      description: `Makes a GET or HEAD call to an API with the account of a grant. Read-only. ${mayWait}`,
      inputSchema: z.strictObject({ method: z.enum(['GET', 'HEAD']).default('GET'), ...call }),
      outputSchema: readOutput,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    },
    (given, extra) => answering(() => makeCall({ ...needs, kept, extra }, { ...given, isReading: true })),
  )

  server.registerTool(
    'call_api',
    {
      title: 'Call an API',
      description: `Makes a call with any method to an API with the account of a grant. May change or delete data; to read, use read_api. ${mayWait}`,
      inputSchema: z.strictObject({
        method: z
          .string()
          .regex(/^[A-Za-z-]{1,20}$/)
          .describe('GET, POST, PUT, PATCH, DELETE, …'),
        ...call,
        body: anyJson
          .optional()
          .describe(
            'A string is sent unchanged, anything else as JSON. Default content-type: application/json, or text/plain for a string that is not a JSON object or array',
          ),
        body_base64: z.base64().optional().describe('The body as base64-encoded bytes, instead of body'),
        idempotency_key: z
          .string()
          .min(1)
          .max(200)
          .optional()
          .describe('Repeating a call with the same key sends it to the API only once'),
        dry_run: z.boolean().optional().describe('Only check whether the call would be allowed'),
      }),
      outputSchema: callOutput,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    },
    (given, extra) => answering(() => makeCall({ ...needs, kept, extra }, { ...given, isReading: false })),
  )

  server.registerTool(
    'call_result',
    {
      title: 'Get the response of a call that waited',
      description:
        'Waits for the response of a read_api or call_api call that a person has to approve. If it is still waiting, ask the person again later; that is not a denial.',
      inputSchema: z.strictObject({
        call_id: callId,
        wait_seconds: waitSeconds.default(50),
        max_characters: call.max_characters,
      }),
      outputSchema: readOutput,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    },
    (given, extra) => answering(() => earlierResult({ ...needs, kept, extra }, given)),
  )

  server.registerTool(
    'cancel_call',
    {
      title: 'Cancel a call that waits',
      description: 'Cancels a call that waits for a person, so that it can no longer be approved.',
      inputSchema: z.strictObject({ call_id: callId }),
      outputSchema: cancelledOutput,
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    ({ call_id }, { signal }) =>
      answering(async () => {
        const { status } = await agent().calls.cancel(call_id, { signal })
        return facts({ call_id, status })
      }),
  )

  server.registerTool(
    'read_result',
    {
      title: 'Read more of a long response',
      description: 'Returns more of a read_api or call_api response that was too long to show at once.',
      inputSchema: z.strictObject({
        result_id: z.string().min(1).max(100).describe('From the response'),
        offset: z.int().min(0).describe('The first character to show'),
        max_characters: call.max_characters,
      }),
      outputSchema: resultOutput,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    ({ result_id, offset, max_characters }) => {
      const found = kept.find(result_id)
      if (!found) {
        const message = 'No such result. Only the last 16 long responses of this session are kept.'
        return failed({ error: { code: 'no_result', message }, next: 'Make the call again.' })
      }
      const { source, text } = found
      if (offset >= text.length) {
        return failed({ error: { code: 'past_the_end', message: `The response has only ${text.length} characters.` } })
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
        'Creates a grant for an API that echoes requests, to try the whole flow without a person or a real account. Replaces your previous sandbox.',
      inputSchema: z.strictObject({}),
      outputSchema: sandboxOutput,
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    },
    (_given, { signal }) =>
      answering(async () => {
        const { grant_id, echo_url, expires_at } = await agent().sandbox({ signal })
        const next =
          'Call read_api or call_api with this grant_id and with echo_url as url. The token that the echo received appears as [REDACTED].'
        return facts({ grant_id, echo_url, expires_at, next })
      }),
  )
}
