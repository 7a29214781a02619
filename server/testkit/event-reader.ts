/** Reads the service's events as a browser would, over a real port. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { TestService } from './service.ts'

export interface ReadEvent {
  /** `comment` for a comment line. */
  event: string
  data: any
}

export interface EventReader {
  status: number
  headers: IncomingMessage['headers']
  /** The next event; undefined at the end. */
  next: () => Promise<ReadEvent | undefined>
  /** Reads until all these topics were received. Returns all topics so far. */
  topics: (...awaited: string[]) => Promise<Set<string>>
  /** All events until the end of the stream. */
  rest: () => Promise<ReadEvent[]>
  request: ClientRequest
  answer: IncomingMessage
}

async function portOf({ app: { http } }: TestService): Promise<number> {
  if (!http.server.listening) await (starting.get(http) ?? startOnce(http))
  return (http.server.address() as AddressInfo).port
}

const starting = new WeakMap<object, Promise<unknown>>()

function startOnce(http: TestService['app']['http']): Promise<unknown> {
  const started = http.listen({ host: '127.0.0.1', port: 0 })
  starting.set(http, started)
  return started
}

type Credential = { token: string } | { cookie: string }

export async function readEvents(
  t: Pick<TestContext, 'after'>,
  service: TestService,
  credential: Credential,
): Promise<EventReader> {
  return readEventsFrom(t, { port: await portOf(service), host: service.config.baseUrl.host }, credential)
}

export async function readEventsFrom(
  t: Pick<TestContext, 'after'>,
  { port, host }: { port: number; host: string },
  credential: Credential,
): Promise<EventReader> {
  const headers =
    'token' in credential ? { authorization: `Bearer ${credential.token}` } : { cookie: credential.cookie }
  const request = httpRequest({
    ...{ host: '127.0.0.1', port, path: '/v4/events', agent: false },
    headers: { host, ...headers },
  })
  t.after(() => request.destroy())
  request.end()
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  request.on('error', () => undefined)
  answer.setEncoding('utf8')
  const events = eventsIn(answer)
  const next = async () => (await events.next()).value ?? undefined
  const rest = async () => {
    const all: ReadEvent[] = []
    for (let one = await next(); one; one = await next()) all.push(one)
    return all
  }
  const topics = async (...awaited: string[]) => {
    const told = new Set<string>()
    while (!awaited.every((topic) => told.has(topic))) {
      const one = await next()
      if (one === undefined) throw new Error(`the stream ended; told so far: ${[...told].join()}`)
      if (one.event === 'changed') for (const topic of one.data.topics as string[]) told.add(topic)
    }
    return told
  }
  return { status: answer.statusCode ?? 0, headers: answer.headers, next, topics, rest, request, answer }
}

async function* eventsIn(answer: AsyncIterable<string>): AsyncGenerator<ReadEvent, undefined> {
  let text = ''
  for await (const chunk of answer) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      yield toEvent(text.slice(0, end))
      text = text.slice(end + 2)
    }
  }
}

function toEvent(block: string): ReadEvent {
  const lines = block.split('\n')
  const member = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const data = member('data')
  return { event: member('event') ?? 'comment', data: data === undefined ? undefined : JSON.parse(data) }
}
