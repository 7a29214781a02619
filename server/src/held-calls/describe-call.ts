/** What a decision on a call covers: everything that is sent, without the credential, and where the credential goes. */
import { createHash } from 'node:crypto'
import { callText, decidedCallText } from '@sallyport/protocol/call-digest'
import type { CallDescription } from '@sallyport/protocol/calls'
import type { Call } from '../proxy/call.ts'
import type { Injects } from '../proxy/upstream.ts'

export function describeCall(call: Call, account: string | null): CallDescription {
  const { destination, body = Buffer.alloc(0), aws, access, standing } = call
  if (access === undefined) throw new Error('a call that asks has an access class')
  return {
    agent_id: call.agentId,
    grant_id: standing.grant.grantId,
    connection_id: standing.connection?.connectionId ?? null,
    account,
    method: call.method,
    url: destination.url.href,
    headers: call.headers.toSorted(([one], [other]) => (one < other ? -1 : 1)),
    adds: addsOf(call.route.injects, call),
    aws: aws ?? null,
    body_sha256: createHash('sha256').update(body).digest('base64url'),
    body_length: body.length,
    access,
  }
}

function addsOf({ shownFor }: Injects, { destination }: Call): string[] {
  const shown = shownFor(destination)
  if (!shown) return []
  if ('header' in shown) return [`header ${shown.header.toLowerCase()}`]
  return ['query' in shown ? `query ${shown.query}` : `path ${shown.path}`]
}

export function digestOf(description: CallDescription): string {
  return sha256(callText(description)).toString('base64url')
}

/** The second half of the nonce that a device signs. */
export function decisionHash(description: CallDescription, repeatForSeconds: number | null): Buffer {
  return sha256(decidedCallText(description, repeatForSeconds))
}

/** Calls that an approval of this one covers if it repeats. */
export function repeatHash(description: CallDescription, scope: string): string {
  const { agent_id, grant_id, method, url, access } = description
  const options = access === 'read' ? readOptions(description) : []
  return sha256(JSON.stringify([agent_id, grant_id, method, url, access, scope, ...options])).toString('base64url')
}

/** Headers can say what is read (`dropbox-api-arg`), and as whom (`stripe-account`). These differ from call to call. */
const ofOneCall: ReadonlySet<string> = new Set(['user-agent', 'traceparent', 'tracestate', 'x-request-id'])

function readOptions({ headers, aws }: CallDescription): unknown[] {
  return [headers.filter(([name = '']) => !ofOneCall.has(name)), aws]
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
