/** What programs show the listener of a run. It is good for that listener only, and so until the command has ended. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const userName = 'run'

export interface RunCredential {
  /** It is in the URL, and so in the environment of the command and of all that it starts. */
  secret: string
  urlOf: (port: number) => string
  isIn: (request: IncomingMessage) => boolean
}

export function makeRunCredential(): RunCredential {
  const secret = randomBytes(32).toString('base64url')
  const expected = digest(`${userName}:${secret}`)
  return {
    secret,
    urlOf: (port) => `http://${userName}:${secret}@127.0.0.1:${port}`,
    isIn: ({ headers }) => {
      const [, given = ''] = /^basic +([\w+/=-]+)$/i.exec(headers['proxy-authorization'] ?? '') ?? []
      return timingSafeEqual(digest(Buffer.from(given, 'base64').toString()), expected)
    },
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
