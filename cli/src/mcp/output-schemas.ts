/** The structured content of tool results. A failure has none: its text is JSON with `error` and `next`. */
import { z } from 'zod'

const next = z.string().describe('What to do next')
const moment = z.string().describe('RFC 3339 time')
const names = z.array(z.string())

const grant = {
  grant_id: z.string(),
  kind: z.string().describe("connection: a person's account; sandbox: no account"),
  provider: z.string().nullable(),
  connection_id: z.string().nullable().describe('The account; grants with the same connection_id use the same account'),
  allowed_hosts: names,
  allowed_methods: names.nullable().describe('null: any'),
  allowed_paths: names.nullable().describe('null: any'),
  mode: z
    .string()
    .describe('Which calls wait for a person: allow_all none, ask_writes those that change something, ask_all all'),
  exceptions: z
    .array(z.object({ paths: names, methods: names.optional(), action: z.string() }))
    .describe('Calls that the mode does not apply to: allow, ask or deny'),
  max_access: z.string().nullable().describe('read: only calls that read; write: none that is destructive; null: any'),
  created_at: moment,
  expires_at: moment.nullable(),
  calls: z.number().describe('Calls made so far'),
  max_calls: z.number().nullable(),
}

export const providersOutput = z.object({
  providers: z.array(
    z.object({ provider: z.string(), provider_name: z.string(), api_hosts: names, verified: z.boolean() }),
  ),
  next,
})

export const grantsOutput = z.object({ grants: z.array(z.object({ ...grant, status: z.string() })), next })

export const accessOutput = z.object({
  ...z.object(grant).partial().shape,
  status: z.enum(['pending', 'approved']),
  access_request_id: z.string(),
  provider: z.string().nullable(),
  approval_url: z.string().optional().describe('While pending: where the person decides'),
  next,
})

const note = z.string().describe('Where the data comes from')
const length = z.number().describe('Number of characters in the whole body')
const next_offset = z.number().nullable().describe('Offset for read_result; null at the end')

const answer = {
  status: z.number().describe('HTTP status of the API response'),
  host: z.string(),
  content_type: z.string(),
  bytes: z.number(),
  body_encoding: z.enum(['text', 'base64']),
  data: z.object({ note, headers: z.record(z.string(), z.string()), body: z.string() }).describe('From the API'),
  length,
  next_offset,
  result_id: z.string().optional().describe('For read_result, if only part of the body is shown'),
  is_cut: z.boolean().describe('Whether the response was truncated because it was too long'),
  is_broken_off: z.boolean().describe('Whether the connection ended before the response was complete'),
  dropped_headers: names.describe('Request headers that were not forwarded'),
  audit_id: z.string().optional(),
}

/** A response, or where a person has to approve the call first. */
export const readOutput = z.object({
  ...z.object(answer).partial().shape,
  status: z.union([answer.status, z.literal('waiting').describe('A person has to approve the call')]),
  call_id: z.string().optional().describe('Of a waiting call, for call_result and cancel_call'),
  approval_url: z.string().optional().describe('Where the person decides: show it to them'),
  expires_at: moment.optional().describe('Until when they can decide'),
  next: next.optional(),
})

/** A response, or with dry_run the service's verdict on the call. */
export const callOutput = z.object({
  ...readOutput.partial().shape,
  allowed: z.boolean().optional().describe('With dry_run: whether the call would be allowed'),
  asks: z.boolean().optional().describe('With dry_run: whether a person would have to approve it first'),
  access: z.string().nullish().describe('With dry_run: read, write or destructive'),
  term: z.string().nullish().describe('With dry_run: the term of the grant that decides'),
  would_inject: z.looseObject({ header: z.string().optional(), value: z.string() }).nullish(),
  grant: z.looseObject({ grant_id: z.string() }).nullish(),
})

export const resultOutput = z.object({
  result_id: z.string(),
  offset: z.number(),
  next_offset,
  length,
  data: z.object({ note, body: z.string() }),
})

export const cancelledOutput = z.object({ call_id: z.string(), status: z.string() })

export const sandboxOutput = z.object({ grant_id: z.string(), echo_url: z.string(), expires_at: moment, next })
