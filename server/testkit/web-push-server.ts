/**
 * A browser and its push service: the service checks who sends (RFC 8292), the browser decrypts what came (RFC 8291,
 * RFC 8188). Written from the specifications, without the package that encrypts.
 */
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { sharedAuthority } from './certificates.ts'
import { readJwt } from './signed-jwt.ts'
import { startTlsUpstream } from './tls-upstream.ts'

export interface WebPushServer {
  host: string
  caFile: string
  caPem: string
  /** A browser that subscribes: the JSON text of its PushSubscription. */
  subscribe: () => { token: string; endpoint: string; received: string[] }
  /** Of the last message. */
  headers: () => IncomingHttpHeaders
  /** The VAPID key and subject of the last message. */
  sender: () => { publicKey: string; subject: unknown }
  /** Responses for the next messages, in this order; then success. */
  answers: { status: number; headers?: Record<string, string> }[]
  connections: () => number
}

interface Browser {
  read: (body: Buffer) => string
  received: string[]
}

export async function startWebPushServer(t: Pick<TestContext, 'after'>): Promise<WebPushServer> {
  const authority = await sharedAuthority()
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1', '::1'] })
  const browsers = new Map<string, Browser>()
  const answers: WebPushServer['answers'] = []
  let host = ''
  let headers: IncomingHttpHeaders = {}
  let sender = { publicKey: '', subject: undefined as unknown }

  const serve: RequestListener = (request, response) => {
    const answer = (body: Buffer) => {
      const browser = browsers.get(request.url ?? '')
      const known = senderOf(request.headers.authorization ?? '', `https://${host}`)
      if (!known) return response.writeHead(403).end()
      if (request.headers['content-encoding'] !== 'aes128gcm') return response.writeHead(415).end()
      if (!browser || request.method !== 'POST') return response.writeHead(404).end()
      sender = known
      headers = request.headers
      const planned = answers.shift()
      if (planned) return response.writeHead(planned.status, planned.headers).end()
      browser.received.push(browser.read(body))
      return response.writeHead(201).end()
    }
    buffer(request).then(answer, () => undefined)
  }

  const { port, connections } = await startTlsUpstream(t, certificate, serve)
  host = `localhost:${port}`
  const subscribe = () => {
    const { keys, ...browser } = createBrowser()
    const path = `/push/${randomBytes(16).toString('hex')}`
    browsers.set(path, browser)
    const endpoint = `https://${host}${path}`
    return { token: JSON.stringify({ endpoint, expirationTime: null, keys }), endpoint, received: browser.received }
  }
  return {
    host,
    caFile: authority.caFile,
    caPem: authority.caPem,
    subscribe,
    headers: () => headers,
    sender: () => sender,
    answers,
    connections,
  }
}

/** RFC 8292 §3: `vapid t=<jwt>, k=<point>`. */
function senderOf(authorization: string, origin: string): { publicKey: string; subject: unknown } | undefined {
  const [, jwt = '', publicKey = ''] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(authorization) ?? []
  const point = Buffer.from(publicKey, 'base64url')
  if (point.length !== 65) return undefined
  const coordinate = (start: number) => point.subarray(start, start + 32).toString('base64url')
  const jwk = { kty: 'EC', crv: 'P-256', x: coordinate(1), y: coordinate(33) }
  const read = readJwt(jwt, createPublicKey({ key: jwk, format: 'jwk' }))
  const { aud, exp, sub } = read?.claims ?? {}
  const secondsLeft = Number(exp) - Date.now() / 1000
  const isGood = read?.header['alg'] === 'ES256' && aud === origin && secondsLeft > 0 && secondsLeft <= 86_400
  return isGood && /^(?:mailto:|https:)/.test(String(sub)) ? { publicKey, subject: sub } : undefined
}

function createBrowser(): Browser & { keys: { p256dh: string; auth: string } } {
  const curve = createECDH('prime256v1')
  const ownPoint = curve.generateKeys()
  const auth = randomBytes(16)
  const hkdf = (secret: Buffer, salt: Buffer, info: Buffer | string, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, salt, info, length))

  const read = (body: Buffer): string => {
    // RFC 8188 §2.1: salt, record size, length of the key's id, the id; here the id is the sender's point.
    const salt = body.subarray(0, 16)
    const recordSize = body.readUInt32BE(16)
    const senderPoint = body.subarray(21, 21 + body.readUInt8(20))
    const record = body.subarray(21 + senderPoint.length)
    if (record.length > recordSize) throw new Error('a push is one record')
    // RFC 8291 §3.4.
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), ownPoint, senderPoint])
    const secret = hkdf(curve.computeSecret(senderPoint), auth, info, 32)
    const key = hkdf(secret, salt, 'Content-Encoding: aes128gcm\0', 16)
    const nonce = hkdf(secret, salt, 'Content-Encoding: nonce\0', 12)
    const decipher = createDecipheriv('aes-128-gcm', key, nonce, { authTagLength: 16 })
    decipher.setAuthTag(record.subarray(-16))
    const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()])
    const end = padded.findLastIndex((byte) => byte !== 0)
    // RFC 8188 §2: the last record's content ends before a 2.
    if (padded[end] !== 2) throw new Error('the record has no end')
    return padded.subarray(0, end).toString()
  }
  return {
    keys: { p256dh: ownPoint.toString('base64url'), auth: auth.toString('base64url') },
    received: [],
    read,
  }
}
