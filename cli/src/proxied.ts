/** Makes one proxied call: with the SDK's `fetch`, or with `proxy` if there is an idempotency key. */
import type { AgentClient, HeldCallOptions, ProxyReply } from '@sallyport/sdk'

const droppedHeaders = 'x-sallyport-dropped-headers'

/** Request headers that the service did not forward. */
export function droppedOf({ headers }: Response): string[] {
  return headers.get(droppedHeaders)?.split(', ') ?? []
}

export interface ProxiedCall extends Omit<HeldCallOptions, 'signal'> {
  grantId: string
  method: string
  url: string
  headers: Record<string, string>
  body: Buffer | undefined
  follow: boolean
  /** Throws if a redirect must not be followed. For calls with a key, the service follows redirects. */
  onRedirect?: ((url: string) => void) | undefined
  /** Null for no limit on the response. */
  timeoutMs: number | null
  idempotencyKey: string | undefined
  /** Shown to a person who has to approve the call. */
  reason?: string | undefined
  signal: AbortSignal
}

export async function proxied(agent: AgentClient, call: ProxiedCall): Promise<Response> {
  if (call.idempotencyKey !== undefined) return keyed(agent, call, call.idempotencyKey)
  const { grantId, method, url, headers, body, follow, onRedirect, timeoutMs, signal, reason, waitMs, onWaiting } = call
  return agent.fetch(grantId, { timeoutMs, onRedirect, onRefusal: 'throw', reason, waitMs, onWaiting })(url, {
    method,
    headers,
    signal,
    redirect: follow ? 'follow' : 'manual',
    ...(body && { body: new Uint8Array(body) }),
  })
}

/** Not streamed. JSON is parsed and written again, so whitespace may differ from the upstream's response. */
async function keyed(agent: AgentClient, call: ProxiedCall, idempotencyKey: string): Promise<Response> {
  const { grantId, method, url, headers, body, follow, timeoutMs, signal, reason, waitMs, onWaiting } = call
  const answer = await agent.proxy(
    {
      grant_id: grantId,
      method,
      url,
      headers,
      ...(body && { body_base64: body.toString('base64') }),
      ...(follow && { follow_redirects: true }),
      ...(timeoutMs !== null && { timeout_ms: timeoutMs }),
      ...(reason !== undefined && { reason }),
    },
    { signal, idempotencyKey, waitMs, onWaiting },
  )
  return responseOf(answer)
}

/** Of a call whose response was buffered. */
export function responseOf(answer: ProxyReply): Response {
  const { status, body: content, body_encoding: encoding } = answer
  const text = encoding === 'json' ? JSON.stringify(content) : String(content)
  const bytes = encoding === 'base64' ? Buffer.from(text, 'base64') : Buffer.from(text)
  const pairs = Object.entries(answer.headers).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  )
  pairs.push(['x-sallyport-audit-id', answer.audit_id])
  if (answer.dropped_headers.length > 0) pairs.push([droppedHeaders, answer.dropped_headers.join(', ')])
  const hasBody = ![204, 205, 304].includes(status) && bytes.length > 0
  return new Response(hasBody ? new Uint8Array(bytes) : null, { status, headers: pairs })
}
