/**
 * Details of `fetch` that programs depend on, one row each. A row is run with the runtime's fetch and the SDK's, with
 * the same upstream, and returns the result. If the two differ on purpose, the row has both results.
 */
import server from '../server/package.json' with { type: 'json' }
import type { ToldUpstream } from './sdk-upstream.ts'

type Fetch = typeof globalThis.fetch

export interface Behaviour {
  run: (fetch: Fetch, at: (path: string) => string, upstream: ToldUpstream) => Promise<unknown>
  /** The row of docs/sdk.md, and the expected results: the runtime's fetch, then ours. */
  differs?: { documented: string; builtIn: unknown; ours: unknown }
}

interface Told {
  method: string
  headers: Record<string, string>
  body: string
  hash: string
}

const told = async (response: Promise<Response>) => (await (await response).json()) as Told

const sent = async (response: Promise<Response>) => {
  const { method, headers, body, hash } = await told(response)
  return { method, type: headers['content-type'], body: body.length < 100 ? body : hash }
}

/** The kind of error. */
const fault = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
    return 'no fault'
  } catch (error) {
    return (error as Error).name
  }
}

const seen = async (response: Promise<Response>) => {
  const { status, ok, statusText, type, url, redirected, body, headers } = await response
  return {
    ...{ status, ok, statusText, type, redirected },
    path: new URL(url).pathname + new URL(url).search,
    isNull: body === null,
    text: await (await response).text(),
    is: headers.get('x-is'),
  }
}

const streamOf = (...parts: string[]) =>
  new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part))
      controller.close()
    },
  })

const post = (body: NonNullable<RequestInit['body']>, init: RequestInit = {}): RequestInit => ({
  method: 'POST',
  body,
  ...init,
})
const half = { duplex: 'half' } as const

async function chunks(response: Response, between: () => void): Promise<string[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const parts: string[] = []
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    parts.push(part.value)
    between()
  }
  return parts
}

export const behaviours: Record<string, Behaviour> = {
  'a string is sent with its type': { run: (fetch, at) => sent(fetch(at('/tell'), post('grüße'))) },
  'a given type is kept': {
    run: (fetch, at) => sent(fetch(at('/tell'), post('{}', { headers: { 'Content-Type': 'application/json' } }))),
  },
  'search parameters are a form': {
    run: (fetch, at) => sent(fetch(at('/tell'), post(new URLSearchParams({ a: '1', b: 'ü &' })))),
  },
  'a form with a file is uploaded': {
    run: async (fetch, at) => {
      const form = new FormData()
      form.set('name', 'Ada')
      form.set('file', new File([new Uint8Array([0, 1, 0xfe, 0xff])], 'ü.png', { type: 'image/png' }))
      const { headers, body } = await told(fetch(at('/tell'), post(form)))
      const [, boundary = ''] = /^multipart\/form-data; boundary=(.+)$/.exec(headers['content-type'] ?? '') ?? []
      return body.replaceAll(boundary, 'BOUNDARY')
    },
  },
  'a blob is sent with its type': {
    run: (fetch, at) => sent(fetch(at('/tell'), post(new Blob(['a', 'b'], { type: 'text/csv' })))),
  },
  'an array buffer is sent': { run: (fetch, at) => sent(fetch(at('/tell'), post(new Uint8Array([1, 255, 0]).buffer))) },
  'of a view only what it shows is sent': {
    run: (fetch, at) => sent(fetch(at('/tell'), post(new Uint8Array([1, 2, 3, 4]).subarray(1, 3)))),
  },
  'five megabytes arrive as they were': { run: (fetch, at) => sent(fetch(at('/tell'), post('x'.repeat(5_000_000)))) },
  'a stream is sent': { run: (fetch, at) => sent(fetch(at('/tell'), post(streamOf('a', 'b'), half))) },
  'a stream needs duplex': { run: (fetch, at) => fault(fetch(at('/tell'), post(streamOf('a')))) },
  'a stream is sent once': {
    run: async (fetch, at) => {
      const stream = streamOf('a')
      await fetch(at('/tell'), post(stream, half))
      return fault(fetch(at('/tell'), post(stream, half)))
    },
  },
  'a stream that fails fails the call': {
    run: (fetch, at) => {
      const stream = new ReadableStream({
        start: (controller) => {
          controller.error(new RangeError('no more'))
        },
      })
      return fault(fetch(at('/tell'), post(stream, half)))
    },
  },
  'a request is sent, and what is given beside it counts': {
    run: async (fetch, at) => {
      const request = new Request(at('/tell'), post('of the request', { headers: { 'x-a': '1', 'x-b': '1' } }))
      const { method, headers, body } = await told(fetch(request, { method: 'PUT', headers: { 'x-b': '2' } }))
      return [method, headers['x-a'], headers['x-b'], body, request.bodyUsed, await fault(fetch(request))]
    },
  },
  'a URL object will do': { run: (fetch, at) => sent(fetch(new URL(at('/tell')))) },
  'a GET has no body': { run: (fetch, at) => fault(fetch(at('/tell'), { body: 'a' })) },
  'a relative URL is none': { run: (fetch) => fault(fetch('/tell')) },
  'a URL with a password is refused': { run: (fetch, at) => fault(fetch(at('/tell').replace('//', '//u:p@'))) },
  'a header that can not be sent is refused': {
    run: (fetch, at) => fault(fetch(at('/tell'), { headers: { 'x-name': 'ключ' } })),
  },
  'TRACE is refused': { run: (fetch, at) => fault(fetch(at('/tell'), { method: 'TRACE' })) },
  'get is GET': { run: async (fetch, at) => (await told(fetch(at('/tell'), { method: 'get' }))).method },
  'patch is PATCH': {
    run: async (fetch, at) =>
      fault(
        told(fetch(at('/tell'), { method: 'patch', body: '1' })).then(({ method }) => {
          if (method !== 'PATCH') throw new RangeError(method)
        }),
      ),
    differs: { documented: '`patch` in lower case', builtIn: 'SyntaxError', ours: 'no fault' },
  },
  'a header given twice is joined': {
    run: async (fetch, at) => {
      const headers = new Headers([['x-many', 'one']])
      headers.append('X-Many', 'two')
      return (await told(fetch(at('/tell'), { headers }))).headers['x-many']
    },
  },
  'authorization is the service’s to say': {
    run: async (fetch, at) => {
      const { headers } = await told(fetch(at('/tell'), { headers: { authorization: 'Bearer mine' } }))
      return headers['authorization']
    },
    differs: { documented: '`authorization`', builtIn: 'Bearer mine', ours: 'Bearer [REDACTED]' },
  },
  'a user agent is sent': {
    run: async (fetch, at) => (await told(fetch(at('/tell')))).headers['user-agent'],
    differs: { documented: '`user-agent`', builtIn: 'node', ours: `Sallyport/${server.version}` },
  },
  'an answer is described': { run: (fetch, at) => seen(fetch(at('/status?is=200#fragment'))) },
  'an error is an answer': { run: (fetch, at) => seen(fetch(at('/status?is=404'))) },
  'a failing server answers too': { run: (fetch, at) => seen(fetch(at('/status?is=503'))) },
  'an odd status is shown': {
    run: async (fetch, at) => {
      const { status, statusText } = await fetch(at('/status?is=299'))
      return [status, statusText]
    },
    differs: { documented: '`statusText`', builtIn: [299, 'unknown'], ours: [299, ''] },
  },
  '204 has no body': { run: (fetch, at) => seen(fetch(at('/status?is=204'))) },
  '205 has no body': { run: (fetch, at) => seen(fetch(at('/status?is=205'))) },
  '304 has no body': { run: (fetch, at) => seen(fetch(at('/status?is=304'))) },
  'the answer to HEAD has no body, but a length': {
    run: async (fetch, at) => {
      const response = await fetch(at('/length'), { method: 'HEAD' })
      return [response.body, await response.text(), response.headers.get('content-length')]
    },
  },
  'a length is said': {
    run: async (fetch, at) => (await fetch(at('/length'))).headers.get('content-length'),
    differs: { documented: '`content-length`', builtIn: '5', ours: null },
  },
  'an answer is a Response': { run: async (fetch, at) => (await fetch(at('/tell'))) instanceof Response },
  'a header that came twice is joined': {
    run: async (fetch, at) => {
      const { headers } = await fetch(at('/twice'))
      return ['x-many', 'link', 'x-request-id', 'etag', 'X-MANY', 'x-none'].map((name) => headers.get(name))
    },
  },
  'no header of the service is left but one': {
    run: async (fetch, at) => {
      const { headers } = await fetch(at('/twice'))
      const ofTheConnection = ['connection', 'keep-alive', 'transfer-encoding', 'date']
      return [...headers.keys()].filter((name) => !ofTheConnection.includes(name))
    },
    differs: {
      documented: '`x-sallyport-audit-id`',
      builtIn: ['etag', 'link', 'x-many', 'x-request-id'],
      ours: ['etag', 'link', 'x-many', 'x-request-id', 'x-sallyport-audit-id'],
    },
  },
  'cookies are set': {
    run: async (fetch, at) => (await fetch(at('/cookies'))).headers.getSetCookie(),
    differs: { documented: '`set-cookie`', builtIn: ['a=b', 'c=d'], ours: [] },
  },
  'a compressed answer is read': { run: async (fetch, at) => (await fetch(at('/gzip'))).text() },
  'a compressed answer says so': {
    run: async (fetch, at) => (await fetch(at('/gzip'))).headers.get('content-encoding'),
    differs: { documented: '`content-encoding`', builtIn: 'gzip', ours: null },
  },
  'a byte order mark is no text': { run: async (fetch, at) => (await fetch(at('/bom'))).text() },
  'bytes stay what they are': {
    run: async (fetch, at) => {
      const blob = await (await fetch(at('/bytes'))).blob()
      return [blob.type, ...new Uint8Array(await blob.arrayBuffer())]
    },
  },
  'what is no JSON is a fault': { run: async (fetch, at) => fault((await fetch(at('/bom'))).json()) },
  'a large answer comes whole': { run: async (fetch, at) => (await (await fetch(at('/large'))).text()).length },
  'a body is read once': {
    run: async (fetch, at) => {
      const response = await fetch(at('/length'))
      return [response.bodyUsed, await response.text(), response.bodyUsed, await fault(response.text())]
    },
  },
  'a copy is read beside it': {
    run: async (fetch, at) => {
      const response = await fetch(at('/redirect?to=/length'))
      const copy = response.clone().clone()
      return [copy.url === response.url, copy.redirected, copy.type, await copy.text(), await response.text()]
    },
  },
  'each part is there before the next is sent': {
    run: async (fetch, at, { goOn }) => chunks(await fetch(at('/turns')), goOn),
  },
  'an answer is there before anything of its body is': {
    run: async (fetch, at, { goOn }) => {
      const response = await fetch(at('/head'))
      goOn()
      return [response.status, await response.text()]
    },
  },
  'a redirect is followed': { run: (fetch, at) => seen(fetch(at('/redirect?to=/status?is=200'))) },
  'a redirect’s address may be UTF-8': { run: (fetch, at) => seen(fetch(at('/redirect?to=/status?is=200%26ü'))) },
  'a fragment is no part of where an answer came from': {
    run: async (fetch, at) => new URL((await fetch(at('/redirect?to=/length%23there'))).url).hash,
  },
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status): [string, Behaviour] => [
      `after ${status} a POST is what it has to be`,
      { run: (fetch, at) => sent(fetch(at(`/redirect?is=${status}&to=/tell`), post('a'))) },
    ]),
  ),
  'after 303 a HEAD stays one': {
    run: async (fetch, at) => {
      const response = await fetch(at('/redirect?is=303&to=/length'), { method: 'HEAD' })
      return [response.status, response.body]
    },
  },
  'after 307 a stream is sent again': {
    run: (fetch, at) => fault(fetch(at('/redirect?is=307&to=/tell'), post(streamOf('a'), half))),
    differs: { documented: 'a stream after 307', builtIn: 'TypeError', ours: 'no fault' },
  },
  'a redirect without an address is an answer': { run: (fetch, at) => seen(fetch(at('/status?is=302'))) },
  'a redirect can be left to the caller': {
    run: async (fetch, at) => {
      const response = await fetch(at('/redirect?to=/length'), { redirect: 'manual' })
      return [response.status, response.headers.get('location'), response.redirected, await response.text()]
    },
  },
  'a redirect can be a fault': {
    run: (fetch, at) => fault(fetch(at('/redirect?to=/length'), { redirect: 'error' })),
  },
  'a redirect that leads nowhere can be a fault too': {
    run: (fetch, at) => fault(fetch(at('/status?is=302'), { redirect: 'error' })),
  },
  'a redirect to what is no URL is a fault': { run: (fetch, at) => fault(fetch(at('/redirect?to=//%255b'))) },
  'redirects without end are a fault': { run: (fetch, at) => fault(fetch(at('/loop'))) },
  'a redirect to another host is followed': {
    run: (fetch, at) => {
      const elsewhere = at('/length').replace('localhost', '127.0.0.1')
      return fault(fetch(at(`/redirect?to=${encodeURIComponent(elsewhere)}`)))
    },
    // The certificate is not for that name; ours does not call it and returns 403.
    differs: {
      documented: 'a redirect to a host outside the grant',
      builtIn: 'TypeError',
      ours: 'no fault',
    },
  },
  'who has aborted calls nobody': {
    run: (fetch, at) => fault(fetch(at('/tell'), { signal: AbortSignal.abort() })),
  },
  'an abort has the reason that was given': {
    run: (fetch, at) => fault(fetch(at('/tell'), { signal: AbortSignal.abort(new EvalError('mine')) })),
  },
  'a call that waits is aborted, and the upstream hears of it': {
    run: async (fetch, at, { gone }) => {
      const failed = await fault(fetch(at('/hang'), { signal: AbortSignal.timeout(300) }))
      await gone()
      return failed
    },
  },
  'an answer is aborted in the middle, and the upstream hears of it': {
    run: async (fetch, at, { gone }) => {
      const controller = new AbortController()
      const response = await fetch(at('/stall'), { signal: controller.signal })
      const failed = await fault(
        chunks(response, () => {
          controller.abort()
        }),
      )
      await gone()
      return failed
    },
  },
  'who cancels a body is not waited for': {
    run: async (fetch, at, { gone }) => {
      const response = await fetch(at('/stall'))
      await response.body?.cancel()
      await gone()
      return response.bodyUsed
    },
  },
  'an answer that is cut off is a fault': {
    run: async (fetch, at) => fault((await fetch(at('/cut'))).text()),
  },
  'a host that is not there is a fault': {
    run: (fetch, at) => fault(fetch(at('/tell').replace(/:\d+/, ':1'))),
    differs: { documented: 'a call that could not be made', builtIn: 'TypeError', ours: 'no fault' },
  },
  'integrity is asked for': {
    run: (fetch, at) =>
      fault(fetch(at('/length'), { integrity: 'sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=' })),
    differs: { documented: '`integrity`', builtIn: 'no fault', ours: 'TypeError' },
  },
}
