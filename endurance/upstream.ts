/** The provider's API: small responses for good agents, expensive ones for hostile agents. */
import type { RequestListener, ServerResponse } from 'node:http'

const mebibyte = 1024 ** 2

/** The prefix of a path selects the response; the rest makes each call's path unique. */
export const paths = {
  small: '/small',
  /** 10 MiB of characters that take six bytes each in JSON. */
  unprintable: '/unprintable',
  large: '/large',
  escapes: '/escapes',
  endless: '/endless',
}

const bodies: Record<string, [type: string, body: Buffer]> = {
  [paths.small]: ['application/json', Buffer.from('{"id":4711,"full_name":"acme/rocket","private":false}')],
  [paths.unprintable]: ['text/plain', Buffer.alloc(10 * mebibyte, 1)],
  [paths.large]: ['application/json', Buffer.from(`[${'{"id":1,"title":"A title"},'.repeat(36_000)}0]`)],
  [paths.escapes]: ['application/json', Buffer.from(`"${'\\u0061\\u0042\\u0037'.repeat(mebibyte / 18)}"`)],
}

const chunk = Buffer.alloc(65_536, 'data: {"delta":"and so on"}\n\n')

export const answer: RequestListener = (request, response) => {
  request.resume()
  const kind = `/${request.url?.split('/')[1] ?? ''}`
  if (kind === paths.endless) {
    streamWithoutEnd(response)
    return
  }
  const [type, body] = bodies[kind] ?? ['text/plain', Buffer.from('not found')]
  response.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body)
}

/** Streams as fast as the client reads. */
function streamWithoutEnd(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const push = () => {
    while (!response.destroyed && response.write(chunk)) continue
    response.once('drain', push)
  }
  push()
}
