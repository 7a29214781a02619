/**
 * Acorn's API, which needs its access tokens: `/mail/v1/…`. Like some real APIs it is careless with them: `/debug`
 * returns the caller's request, and `/events` starts with it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Mailbox, Message } from './mailboxes.ts'

export const mailPath = '/mail/v1'
export const mailScopes = { 'mail.read': 'Read your mail', 'mail.write': 'Send and delete mail for you' }

export interface Caller {
  mailbox: Mailbox
  scopes: readonly string[]
}

interface Call extends Caller {
  request: IncomingMessage
  response: ServerResponse
  /** The path segment after `/messages/`. */
  id: string
}

interface Answer {
  status: number
  body?: object
}

const maxBodyBytes = 65_536
const betweenEventsMs = 400

const routes: Record<string, (call: Call) => Answer | Promise<Answer> | Promise<void>> = {
  'GET /me': ({ mailbox: { name, email, inbox }, scopes }) => ok({ name, email, messages: inbox.length, scopes }),
  'GET /messages': ({ mailbox }) => ok({ messages: mailbox.inbox.map(headOf) }),
  'GET /messages/': ({ mailbox, id }) => {
    const message = [...mailbox.inbox, ...mailbox.sent].find((one) => one.id === id)
    return message ? ok(message) : notFound
  },
  'POST /messages': async ({ mailbox, request }) => {
    const letter = await letterIn(request)
    if (letter === undefined) return refusal(400, 'a message has "to", "subject" and "text", and is no novel')
    return { status: 201, body: mailbox.send(letter) }
  },
  'DELETE /messages/': ({ mailbox, id }) => (mailbox.remove(id) ? { status: 204 } : notFound),
  'GET /debug': ({ request }) =>
    ok({ note: 'This is the request we got.', method: request.method, path: request.url, headers: request.headers }),
  'GET /events': streamEvents,
}

/** Authorizes a valid token by its scopes. */
export async function serveMail(caller: Caller, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '').split('?')[0]?.slice(mailPath.length) ?? ''
  const [, route = '', id = ''] = /^(\/[a-z]+\/?)(.*)/s.exec(path) ?? []
  const method = request.method ?? ''
  const serve = Object.hasOwn(routes, `${method} ${route}`) ? routes[`${method} ${route}`] : undefined
  const needed = method === 'GET' ? 'mail.read' : 'mail.write'
  const send = ({ status, body }: Answer) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body && JSON.stringify(body))
  }
  if (!serve || (id === '') === route.endsWith('/')) send(notFound)
  else if (!caller.scopes.includes(needed)) send(refusal(403, `the token lacks the scope ${needed}`))
  else {
    const answer = await serve({ ...caller, request, response, id })
    if (answer) send(answer)
  }
}

/** Server-sent events: the request, then the inbox, one message at a time, as if it just arrived. */
async function streamEvents({ mailbox, request, response }: Call): Promise<void> {
  const send = (event: string, data: object) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  send('hello', { authorization: request.headers.authorization })
  for (const message of mailbox.inbox.slice(0, 3)) {
    await sleep(betweenEventsMs)
    if (response.destroyed) return
    send('message', { id: message.id, subject: message.subject })
  }
  response.end()
}

async function letterIn(request: IncomingMessage): Promise<Pick<Message, 'to' | 'subject' | 'text'> | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= maxBodyBytes) chunks.push(chunk)
  }
  if (bytes > maxBodyBytes) return undefined
  try {
    const { to, subject, text } = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
    if (typeof to !== 'string' || typeof subject !== 'string' || typeof text !== 'string') return undefined
    return { to, subject, text }
  } catch {
    return undefined
  }
}

function headOf({ id, from, subject, at }: Message): object {
  return { id, from, subject, at }
}

function ok(body: object): Answer {
  return { status: 200, body }
}

function refusal(status: number, error: string): Answer {
  return { status, body: { error } }
}

const notFound = refusal(404, 'there is nothing here')
