/** Unmodified client libraries with the SDK's fetch, each doing the same tasks. */
import Anthropic, { toFile as toAnthropicFile } from '@anthropic-ai/sdk'
import { drive } from '@googleapis/drive'
import { LinearSdk } from '@linear/sdk'
import { Client as Notion, collectPaginatedAPI } from '@notionhq/client'
import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { WebClient } from '@slack/web-api'
import axios from 'axios'
import ky from 'ky'
import OpenAI, { toFile } from 'openai'
import Stripe from 'stripe'

export type Fetch = typeof globalThis.fetch

export interface Library {
  /** The names in all pages of a list. */
  list: () => Promise<unknown[]>
  /** Uploads a file with the content `hello`. Returns the result. */
  upload: () => Promise<unknown>
  /** The chunks of a response, as they arrive. */
  stream?: () => Promise<AsyncIterable<unknown>>
  /** A call without a response. A library without support for signals uses its own timeout of a second. */
  hang: (signal: AbortSignal) => Promise<unknown>
}

const hello = () => new Blob(['hello'], { type: 'text/plain' })
const form = () => {
  const given = new FormData()
  given.set('file', hello(), 'a.txt')
  return given
}
const soonMs = 1000

async function* mapped<T, U>(values: AsyncIterable<T>, read: (value: T) => U): AsyncGenerator<U> {
  for await (const value of values) yield read(value)
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const value of values) found.push(value)
  return found
}

async function* nothing(): AsyncGenerator<never> {}

const nextIn = (link: string | null | undefined) => /<([^>]+)>; rel="next"/.exec(link ?? '')?.[1]

/** Plain `fetch` without a library. */
export function plain(fetch: Fetch, base: string): Library {
  return {
    list: async () => {
      const found: string[] = []
      for (let url: string | undefined = `${base}/items`; url !== undefined;) {
        const answer = await fetch(url)
        if (!answer.ok) throw new Error(await answer.text(), { cause: answer.status })
        found.push(...((await answer.json()) as { name: string }[]).map(({ name }) => name))
        url = nextIn(answer.headers.get('link'))
      }
      return found
    },
    upload: async () => {
      const answer = await fetch(`${base}/upload`, { method: 'POST', body: form() })
      return ((await answer.json()) as { uploaded: string }).uploaded
    },
    stream: async () => (await fetch(`${base}/stream`)).body?.pipeThrough(new TextDecoderStream()) ?? nothing(),
    hang: (signal) => fetch(`${base}/hang`, { signal }),
  }
}

/** By name; `api` is the upstream's URL, with a separate path for each. */
export const libraries: Record<string, (fetch: Fetch, api: string) => Library> = {
  octokit: (fetch, api) => {
    const octokit = new (Octokit.plugin(paginateRest))({ request: { fetch }, baseUrl: `${api}/octokit` })
    return {
      list: async () => (await octokit.paginate('GET /items')).map((item) => (item as { name: string }).name),
      upload: async () => {
        const headers = { 'content-type': 'text/plain' }
        const { data } = await octokit.request('POST /upload', { data: Buffer.from('hello'), headers })
        return (data as { uploaded: string }).uploaded
      },
      stream: async () => {
        const { data } = await octokit.request('GET /stream', { request: { parseSuccessResponseBody: false } })
        return (data as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())
      },
      hang: (signal) => octokit.request('GET /hang', { request: { signal } }),
    }
  },
  slack: (fetch, api) => {
    const slack = new WebClient('none', { fetch, slackApiUrl: `${api}/slack/` })
    const hurried = new WebClient('none', {
      ...{ fetch, slackApiUrl: `${api}/slack/`, timeout: soonMs, retryConfig: { retries: 0 } },
    })
    return {
      list: async () => {
        const found: unknown[] = []
        for await (const page of slack.paginate('conversations.list', { limit: 1 })) {
          found.push(...(page as unknown as { channels: { name: string }[] }).channels.map(({ name }) => name))
        }
        return found
      },
      upload: async () => {
        const file = Buffer.from('hello')
        const { ok } = await slack.filesUploadV2({ file, filename: 'a.txt', channel_id: 'C1' })
        return ok ? 'hello a.txt' : 'nothing'
      },
      hang: () => hurried.api.test(),
    }
  },
  googleapis: (fetch, api) => {
    const google = drive({ version: 'v3', rootUrl: `${api}/`, fetchImplementation: fetch })
    return {
      list: async () => {
        const found: unknown[] = []
        let pageToken = ''
        do {
          const { data } = await google.files.list(pageToken === '' ? {} : { pageToken })
          found.push(...(data.files ?? []).map(({ name }) => name))
          pageToken = data.nextPageToken ?? ''
        } while (pageToken !== '')
        return found
      },
      upload: async () => {
        const media = { mimeType: 'text/plain', body: 'hello' }
        return (await google.files.create({ requestBody: { name: 'a.txt' }, media }, { rootUrl: `${api}/` })).data.id
      },
      stream: async () => {
        const { data } = await google.files.get({ fileId: 'stream', alt: 'media' }, { responseType: 'stream' })
        return mapped(data as AsyncIterable<Uint8Array>, (part) => new TextDecoder().decode(part))
      },
      hang: (signal) => google.files.get({ fileId: 'hang' }, { signal }),
    }
  },
  openai: (fetch, api) => {
    const openai = new OpenAI({ fetch, baseURL: `${api}/openai/v1`, apiKey: 'none' })
    return {
      list: () => all(mapped(openai.files.list(), ({ id }) => id)),
      upload: async () => (await openai.files.create({ purpose: 'batch', file: await toFile(hello(), 'a.txt') })).id,
      stream: async () => {
        const stream = await openai.chat.completions.create({ model: 'gpt', messages: [], stream: true })
        return mapped(stream, ({ choices }) => choices[0]?.delta.content)
      },
      hang: (signal) => openai.models.retrieve('hang', { signal }),
    }
  },
  anthropic: (fetch, api) => {
    const anthropic = new Anthropic({ fetch, baseURL: `${api}/anthropic`, apiKey: 'none' })
    return {
      list: () => all(mapped(anthropic.models.list(), ({ id }) => id)),
      upload: async () => (await anthropic.beta.files.upload({ file: await toAnthropicFile(hello(), 'a.txt') })).id,
      stream: async () => {
        const stream = await anthropic.messages.create({ model: 'claude', max_tokens: 9, messages: [], stream: true })
        const texts = mapped(stream, (event) =>
          event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : undefined,
        )
        return onlyDefined(texts)
      },
      hang: (signal) => anthropic.models.retrieve('hang', {}, { signal }),
    }
  },
  stripe: (fetch, api) => {
    const { hostname: host, port } = new URL(api)
    const place = { host, port: port === '' ? 443 : Number(port), protocol: 'https' as const }
    const stripe = new Stripe('none', { httpClient: Stripe.createFetchHttpClient(fetch), ...place })
    return {
      list: () => all(mapped(stripe.customers.list(), ({ id }) => id)),
      upload: async () => {
        const file = { name: 'a.txt', type: 'text/plain', data: Buffer.from('hello') }
        return (await stripe.files.create({ purpose: 'dispute_evidence', file })).id
      },
      stream: async () => {
        const pdf = (await stripe.quotes.pdf('1')) as unknown as ReadableStream<Uint8Array>
        return pdf.pipeThrough(new TextDecoderStream())
      },
      hang: () => stripe.customers.retrieve('hang', {}, { timeout: soonMs, maxNetworkRetries: 0 }),
    }
  },
  notion: (fetch, api) => {
    const notion = new Notion({ fetch, baseUrl: `${api}/notion`, auth: 'none' })
    return {
      list: async () => (await collectPaginatedAPI(notion.users.list, {})).map(({ id }) => id),
      upload: async () => {
        const file = { filename: 'a.txt', data: hello() }
        return (await notion.fileUploads.send({ file_upload_id: '1', file })).id
      },
      // Its own timeout stops waiting without aborting the call.
      hang: (signal) => {
        const ended: Fetch = (url, init) => fetch(url, { ...init, signal })
        const hurried = new Notion({ fetch: ended, baseUrl: `${api}/notion`, auth: 'none' })
        return hurried.users.retrieve({ user_id: 'hang' })
      },
    }
  },
  linear: (fetch, api) => {
    const linear = new LinearSdk(async (query, variables) => {
      const body = JSON.stringify({ query, variables })
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${api}/linear/graphql`, { method: 'POST', headers, body })
      const { data, error, errors } = (await answer.json()) as Record<string, any>
      if (data === undefined) throw new Error(JSON.stringify(error ?? errors), { cause: answer.status })
      return data
    })
    return {
      list: async () => {
        const teams = await linear.teams()
        while (teams.pageInfo.hasNextPage) await teams.fetchNext()
        return teams.nodes.map(({ id }) => id)
      },
      upload: async () => {
        const { uploadFile } = await linear.fileUpload('text/plain', 'a.txt', 5)
        return (await fetch(uploadFile?.uploadUrl ?? '', { method: 'PUT', body: hello() })).text()
      },
      hang: (signal) => {
        const body = JSON.stringify({ query: '{ viewer { id } }', variables: { id: 'hang' } })
        return fetch(`${api}/linear/graphql`, { method: 'POST', body, signal })
      },
    }
  },
  axios: (fetch, api) => {
    const client = axios.create({ adapter: 'fetch', env: { fetch }, baseURL: `${api}/axios` })
    return {
      list: async () => {
        const found: string[] = []
        for (let url: string | undefined = '/items'; url !== undefined;) {
          const { data, headers } = await client.get<{ name: string }[]>(url)
          found.push(...data.map(({ name }) => name))
          url = nextIn(headers['link'] as string | undefined)
        }
        return found
      },
      upload: async () => (await client.post<{ uploaded: string }>('/upload', form())).data.uploaded,
      stream: async () => {
        const { data } = await client.get<ReadableStream<Uint8Array>>('/stream', { responseType: 'stream' })
        return data.pipeThrough(new TextDecoderStream())
      },
      hang: (signal) => client.get('/hang', { signal }),
    }
  },
  ky: (fetch, api) => {
    const client = ky.create({ fetch, prefix: `${api}/ky` })
    return {
      list: async () => {
        const first = await client('items')
        const found = await first.json<{ name: string }[]>()
        const next = await ky<{ name: string }[]>(nextIn(first.headers.get('link')) ?? '', { fetch }).json()
        return [...found, ...next].map(({ name }) => name)
      },
      upload: async () => (await client.post<{ uploaded: string }>('upload', { body: form() }).json()).uploaded,
      stream: async () => (await client('stream')).body?.pipeThrough(new TextDecoderStream()) ?? nothing(),
      hang: (signal) => client('hang', { signal }),
    }
  },
  undici: (fetch, api) => plain(fetch, `${api}/undici`),
}

async function* onlyDefined<T>(values: AsyncIterable<T | undefined>): AsyncGenerator<T> {
  for await (const value of values) if (value !== undefined) yield value
}
