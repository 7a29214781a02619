/**
 * A server that issues tokens for assertions, and an API behind it that takes them. It verifies assertions with jose,
 * so with nothing of the service's own code.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { Answer, Received } from './calling.ts'

export interface Reply {
  status: number
  headers?: Record<string, string>
  body: object | string
}

export interface TokenIssuer {
  answer: Answer
  /** Those that were valid, in order. */
  assertions: string[]
  /** All that were issued, in order. */
  tokens: string[]
  /** Of the tokens that are issued from now on. */
  lifetimeSeconds: number
  /** Answers requests for tokens in place of the server, as long as it is set. */
  instead: ((assertion: string) => Reply) | undefined
  /** What the API answers to a call with a valid token. */
  api: Answer
  /** How many requests for tokens have come. */
  asked: () => number
  /** The API no longer accepts it. */
  revoke: (token: string) => void
  /** Holds answers to requests for tokens back until they are released. */
  hold: () => { arrived: Promise<unknown>; release: () => void }
}

export interface IssuerRules {
  now: () => Date
  /** What the request shows to get a token, or to ask about itself. Undefined if it is a call of the API. */
  assertionOf: (request: Received) => string | undefined
  /** A request with an assertion. `issue` makes a token. */
  decide: (request: Received, assertion: string, issue: (prefix: string) => string) => Promise<Reply>
}

export function createTokenIssuer({ now, assertionOf, decide }: IssuerRules): TokenIssuer {
  const until = new Map<string, Date>()
  let asked = 0
  let held: { arrive: () => void; released: Promise<unknown> } | undefined
  const issue = (prefix: string) => {
    const token = `${prefix}${randomBytes(24).toString('hex')}`
    until.set(token, new Date(now().getTime() + issuer.lifetimeSeconds * 1000))
    issuer.tokens.push(token)
    return token
  }
  const replyTo = async (request: Received, assertion: string): Promise<Reply> => {
    asked++
    const reply = issuer.instead?.(assertion) ?? (await decide(request, assertion, issue))
    const holding = held
    holding?.arrive()
    await holding?.released
    return reply
  }
  const issuer: TokenIssuer = {
    ...{ assertions: [], tokens: [], lifetimeSeconds: 3600, instead: undefined },
    api: (response, { path }) => response.setHeader('content-type', 'application/json').end(JSON.stringify({ path })),
    answer: (response, request) => {
      const assertion = assertionOf(request)
      if (assertion !== undefined) {
        replyTo(request, assertion).then(
          ({ status, headers, body }) => {
            response.writeHead(status, { 'content-type': 'application/json', ...headers })
            response.end(typeof body === 'string' ? body : JSON.stringify(body))
          },
          (error: unknown) => response.writeHead(500).end(String(error)),
        )
        return
      }
      const end = until.get(tokenOf(request))
      if (end && end > now()) issuer.api(response, request)
      else response.writeHead(401, { 'content-type': 'application/json' }).end('{"message":"Bad credentials"}')
    },
    asked: () => asked,
    revoke: (token) => until.delete(token),
    hold: () => {
      const [arrival, release] = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()]
      held = {
        arrive: () => {
          arrival.resolve(true)
        },
        released: release.promise,
      }
      return {
        arrived: arrival.promise,
        release: () => {
          held = undefined
          release.resolve(true)
        },
      }
    },
  }
  return issuer
}

/** Bearer, or the password of Git over https. */
function tokenOf({ headers }: Received): string {
  const [scheme = '', value = ''] = (headers.authorization ?? '').split(' ')
  if (scheme === 'Bearer') return value
  const [user, password = ''] = Buffer.from(value, 'base64').toString().split(':')
  return scheme === 'Basic' && user === 'x-access-token' ? password : ''
}

let known: Map<string, string> | undefined

/** An RSA key in PEM. Making one takes a while, so each is made once. */
export function rsaKey(
  name: string,
  { bits = 2048, type = 'pkcs1' }: { bits?: number; type?: 'pkcs1' | 'pkcs8' } = {},
) {
  known ??= new Map()
  const found = known.get(`${name} ${bits} ${type}`)
  if (found !== undefined) return found
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  const pem = privateKey.export({ type, format: 'pem' }).toString()
  known.set(`${name} ${bits} ${type}`, pem)
  return pem
}
