/** Apple's push service as a provider sees it: HTTP/2 over TLS, with its rules, responses and failures. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import type { Clock } from '../src/platform/clock.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import { sharedAuthority } from './certificates.ts'
import { temporaryFolder } from './databases.ts'
import { readJwt } from './signed-jwt.ts'
import { listen } from './tls-upstream.ts'

export type ApnsAnswer =
  | { status: number; reason: string; headers?: Record<string, string> }
  /** The connection breaks after the push was received, before any response. */
  | 'lost'
  /** Responds with success, then sends GOAWAY on this connection. */
  | 'goaway'
  /** Sends a GOAWAY that says this push was not processed. */
  | 'goaway-untaken'
  /** Responds with success, but only after this promise. */
  | { after: Promise<unknown> }

export interface ApnsPush {
  token: string
  providerToken: string
  headers: IncomingHttpHeaders
  payload: { aps: { alert: { title: string; body: string } } } & Record<string, unknown>
}

export interface ApnsServer {
  host: string
  caFile: string
  caPem: string
  settings: Environment
  /** Pushes that passed all rules, whatever the response was. */
  received: ApnsPush[]
  /** Responses for the next pushes, in this order; then success. */
  answers: ApnsAnswer[]
  connections: () => number
}

export const apnsTopic = 'example.sallyport.authenticator'
const keyId = 'ABC123DEFG'
const teamId = 'TEAM123456'

export async function startApnsServer(t: Pick<TestContext, 'after'>, clock: Clock): Promise<ApnsServer> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keyFile = join(temporaryFolder(t), 'AuthKey.p8')
  writeFileSync(keyFile, privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const authority = await sharedAuthority()
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1', '::1'] })
  const received: ApnsPush[] = []
  const answers: ApnsAnswer[] = []

  /** The reason why Apple would refuse a push, whatever its content. */
  const fault = (headers: IncomingHttpHeaders, body: string): [number, string] | undefined => {
    const jwt = readJwt(/^bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '', publicKey)
    const { alg, kid } = jwt?.header ?? {}
    if (alg !== 'ES256' || kid !== keyId || jwt?.claims['iss'] !== teamId) return [403, 'InvalidProviderToken']
    const age = clock().getTime() / 1000 - Number(jwt.claims['iat'])
    if (!(age >= -1 && age < 3600)) return [403, 'ExpiredProviderToken']
    if (headers['apns-topic'] !== apnsTopic) return [400, 'BadTopic']
    if (headers['apns-push-type'] !== 'alert') return [400, 'InvalidPushType']
    if (headers['apns-priority'] !== '10') return [400, 'BadPriority']
    if (!/^\d{10}$/.test(String(headers['apns-expiration']))) return [400, 'BadExpirationDate']
    if (Buffer.byteLength(String(headers['apns-collapse-id'])) > 64) return [400, 'BadCollapseId']
    if (Buffer.byteLength(body) > 4096) return [413, 'PayloadTooLarge']
    return undefined
  }

  const serve = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const body = await text(stream)
    const [, token = ''] = /^\/3\/device\/([0-9a-f]{64,200})$/.exec(headers[':path'] ?? '') ?? []
    const reply = (status: number, reason?: string, more: Record<string, string> = {}) => {
      stream.respond({ ':status': status, ...more })
      stream.end(reason === undefined ? undefined : JSON.stringify({ reason }))
    }
    if (headers[':method'] !== 'POST' || token === '') {
      reply(404, 'BadPath')
      return
    }
    const wrong = fault(headers, body)
    if (wrong) {
      reply(...wrong)
      return
    }
    const [, providerToken = ''] = (headers.authorization ?? '').split(' ')
    received.push({ token, providerToken, headers, payload: JSON.parse(body) as ApnsPush['payload'] })
    const answer = answers.shift() ?? { status: 200, reason: '' }
    const session = stream.session as ServerHttp2Session
    if (answer === 'lost') session.destroy()
    else if (answer === 'goaway-untaken') session.goaway(0, (stream.id ?? 1) - 2)
    else if (answer === 'goaway') {
      reply(200)
      session.close()
    } else if ('after' in answer) {
      await answer.after
      reply(200)
    } else if (answer.status === 200) reply(200)
    else reply(answer.status, answer.reason, answer.headers)
  }

  const server = createSecureServer(certificate)
  server.on('sessionError', () => undefined)
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    serve(stream, headers).catch(() => {
      stream.destroy()
    })
  })
  const { port, connections } = await listen(t, server)
  const host = `localhost:${port}`
  const settings = {
    SALLYPORT_APNS_KEY_FILE: keyFile,
    SALLYPORT_APNS_KEY_ID: keyId,
    SALLYPORT_APNS_TEAM_ID: teamId,
    SALLYPORT_APNS_TOPIC: apnsTopic,
    SALLYPORT_APNS_URL: `https://${host}`,
  }
  return { host, caFile: authority.caFile, caPem: authority.caPem, settings, received, answers, connections }
}
