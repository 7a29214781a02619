/** An upstream that imitates the APIs of the libraries. Each one returns the token where it can. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Respond } from './sdk-upstream.ts'

const json = (response: ServerResponse, value: object, status = 200, headers: Record<string, string> = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

/** The file name and content in a multipart form. */
const uploaded = async (request: IncomingMessage) => {
  const sent = await text(request)
  return sent.includes('hello') ? `hello ${/filename="([^"]*)"/.exec(sent)?.[1] ?? ''}`.trim() : 'nothing'
}

const inTurns = async (response: ServerResponse, { turn }: Parameters<Respond>[3], type: string, parts: string[]) => {
  response.writeHead(200, { 'content-type': type })
  for (const [index, part] of parts.entries()) {
    const next = index < parts.length - 1 ? turn() : undefined
    response.write(part)
    await next
  }
  response.end()
}

const event = (value: object, name?: string) =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`

const slowDown = { message: 'slow down', type: 'rate_limit_error' }
/** In the formats of all APIs. */
const tooMany = { object: 'error', status: 429, code: 'rate_limited', message: 'slow down', error: slowDown }

/** Two pages of one record each: `first`, then `second`. */
const pages: Record<string, (isSecond: boolean) => object> = {
  slack: (isSecond) => ({
    ok: true,
    channels: [{ id: 'C', name: isSecond ? 'second' : 'first' }],
    response_metadata: { next_cursor: isSecond ? '' : '2' },
  }),
  drive: (isSecond) => ({
    files: [{ name: isSecond ? 'second' : 'first' }],
    ...(!isSecond && { nextPageToken: '2' }),
  }),
  openai: (isSecond) => ({
    object: 'list',
    data: [{ id: isSecond ? 'second' : 'first', object: 'file' }],
    has_more: !isSecond,
  }),
  anthropic: (isSecond) => {
    const id = isSecond ? 'second' : 'first'
    return { data: [{ id, type: 'model' }], has_more: !isSecond, first_id: id, last_id: id }
  },
  stripe: (isSecond) => ({
    object: 'list',
    data: [{ id: isSecond ? 'second' : 'first', object: 'customer' }],
    has_more: !isSecond,
    url: '/v1/customers',
  }),
  notion: (isSecond) => ({
    object: 'list',
    results: [{ object: 'user', id: isSecond ? 'second' : 'first' }],
    has_more: !isSecond,
    next_cursor: isSecond ? null : '2',
    type: 'user',
    user: {},
  }),
}

/** The path of each library's list. */
const lists: Record<string, string> = {
  slack: '/slack/conversations.list',
  drive: '/drive/v3/files',
  openai: '/openai/v1/files',
  anthropic: '/anthropic/v1/models',
  stripe: '/v1/customers',
  notion: '/notion/v1/users',
}

/** Generic HTTP libraries; they paginate with the link header. */
export const plainLibraries = ['octokit', 'axios', 'ky', 'undici', 'deno', 'requests', 'httpx'] as const

export interface LibraryApis {
  answers: Record<string, Respond>
  /** The library's next call gets a 429. */
  limit: (name: string) => void
  /** How many calls of a library came. */
  calls: (name: string) => number
}

export function libraryApis(): LibraryApis {
  const limited = new Set<string>()
  const counts = new Map<string, number>()
  const of = (name: string, answers: Record<string, Respond>): [string, Respond][] =>
    Object.entries(answers).map(([path, respond]) => [
      path,
      (request, response, url, course) => {
        counts.set(name, (counts.get(name) ?? 0) + 1)
        const token = request.headers.authorization ?? ''
        response.setHeader('x-oauth-token', token)
        if (!limited.delete(name)) void respond(request, response, url, course)
        else
          json(response, tooMany, 429, {
            'retry-after': '0',
          })
      },
    ])

  const paged = Object.entries(pages).flatMap(([name, page]) =>
    of(name, {
      [lists[name] ?? '']: async (request, response, { searchParams }) => {
        if (name === 'openai' && request.method === 'POST') {
          json(response, { id: await uploaded(request), object: 'file' })
          return
        }
        const sent = new URLSearchParams([...searchParams, ...new URLSearchParams(await text(request))])
        const isSecond = ['cursor', 'pageToken', 'after', 'after_id', 'starting_after', 'start_cursor'].some(
          (parameter) => (sent.get(parameter) ?? '') !== '',
        )
        json(response, page(isSecond))
      },
    }),
  )
  const plain = plainLibraries.flatMap((name) =>
    of(name, {
      [`/${name}/items`]: (request, response, { searchParams }) => {
        if (searchParams.get('page') === '2') json(response, [{ name: 'second' }])
        else {
          const next = `https://${request.headers.host ?? ''}/${name}/items?page=2`
          json(response, [{ name: 'first', token: request.headers.authorization }], 200, {
            link: `<${next}>; rel="next"`,
          })
        }
      },
      [`/${name}/upload`]: async (request, response) => {
        json(response, { uploaded: await uploaded(request) })
      },
      [`/${name}/stream`]: (_request, response, _url, course) =>
        inTurns(response, course, 'text/plain', ['Hel\n\n', 'lo\n\n']),
      [`/${name}/moved`]: (_request, response) => {
        response.writeHead(302, { location: `/${name}/items?page=2` }).end()
      },
      [`/${name}/limited`]: (_request, response) => {
        json(response, tooMany, 429, { 'retry-after': '7' })
      },
      [`/${name}/hang`]: (_request, response, _url, { departs }) => {
        departs(response)
      },
    }),
  )
  const hang: Respond = (_request, response, _url, { departs }) => {
    departs(response)
  }
  const own = [
    ...of('slack', {
      '/slack/files.getUploadURLExternal': (request, response) => {
        json(response, { ok: true, file_id: 'F1', upload_url: `https://${request.headers.host ?? ''}/slack/put` })
      },
      '/slack/put': async (request, response) => {
        response.end(`OK - ${await uploaded(request)}`)
      },
      '/slack/files.completeUploadExternal': (_request, response) => {
        json(response, { ok: true, files: [{ id: 'F1' }] })
      },
      '/slack/conversations.join': (_request, response) => {
        json(response, { ok: false, error: 'channel_not_found' })
      },
      '/slack/api.test': hang,
    }),
    ...of('drive', {
      '/upload/drive/v3/files': async (request, response) => {
        json(response, { id: await uploaded(request) })
      },
      '/drive/v3/files/stream': (_request, response, _url, course) =>
        inTurns(response, course, 'text/plain', ['Hel\n\n', 'lo\n\n']),
      '/drive/v3/files/hang': hang,
    }),
    ...of('openai', {
      '/openai/v1/chat/completions': async (request, response, _url, course) => {
        await text(request)
        const part = (content: string) => event({ id: 'c', choices: [{ index: 0, delta: { content } }] })
        await inTurns(response, course, 'text/event-stream', [part('Hel'), `${part('lo')}data: [DONE]\n\n`])
      },
      '/openai/v1/models/hang': hang,
    }),
    ...of('anthropic', {
      '/anthropic/v1/files': async (request, response) => {
        json(response, { id: await uploaded(request), type: 'file' })
      },
      '/anthropic/v1/messages': async (request, response, _url, course) => {
        await text(request)
        const part = (words: string) =>
          event(
            { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } },
            'content_block_delta',
          )
        const end = event({ type: 'message_stop' }, 'message_stop')
        await inTurns(response, course, 'text/event-stream', [part('Hel'), `${part('lo')}${end}`])
      },
      '/anthropic/v1/models/hang': hang,
    }),
    ...of('stripe', {
      '/v1/files': async (request, response) => {
        json(response, { id: await uploaded(request), object: 'file' })
      },
      '/v1/quotes/1/pdf': (_request, response, _url, course) =>
        inTurns(response, course, 'application/pdf', ['Hel\n\n', 'lo\n\n']),
      '/v1/customers/hang': hang,
    }),
    ...of('notion', {
      '/notion/v1/file_uploads/1/send': async (request, response) => {
        json(response, { object: 'file_upload', id: await uploaded(request) })
      },
      '/notion/v1/users/hang': hang,
    }),
    ...of('linear', {
      '/linear/graphql': async (request, response, url, course) => {
        const { query, variables = {} } = JSON.parse(await text(request)) as {
          query: string
          variables?: { after?: string; id?: string }
        }
        if (variables.id === 'hang') {
          hang(request, response, url, course)
        } else if (query.includes('fileUpload')) {
          const uploadUrl = `https://${request.headers.host ?? ''}/linear/put`
          const uploadFile = { __typename: 'UploadFile', uploadUrl, assetUrl: 'a', headers: [], size: 5 }
          json(response, { data: { fileUpload: { success: true, lastSyncId: 1, uploadFile } } })
        } else {
          const isSecond = variables.after !== undefined
          const pageInfo = { hasNextPage: !isSecond, hasPreviousPage: isSecond, startCursor: 'a', endCursor: 'b' }
          json(response, { data: { teams: { nodes: [{ id: isSecond ? 'second' : 'first' }], pageInfo } } })
        }
      },
      '/linear/put': async (request, response) => {
        response.end(await uploaded(request))
      },
    }),
  ]
  return {
    answers: Object.fromEntries([...paged, ...plain, ...own]),
    limit: (name) => limited.add(name),
    calls: (name) => counts.get(name) ?? 0,
  }
}
