/**
 * Signs a request with AWS Signature Version 4, in headers alone. Path and query are sent in the one spelling that is
 * signed, so that a server which decodes them first computes the same.
 */
import { createHash, createHmac } from 'node:crypto'
import type { SignatureV4 as Signer } from '@smithy/signature-v4'
import { ServiceError } from '../../platform/errors.ts'
import { Secret } from '../../platform/secret.ts'
import type { SigningScope } from './signing-scopes.ts'

export interface AwsKeys {
  accessKeyId: string
  secretAccessKey: Secret
  sessionToken: Secret | undefined
}

export interface Signable {
  method: string
  url: URL
  headers: [name: string, value: string][]
  body: Buffer | undefined
  /** Not signed, which S3 alone allows. */
  bodyStream?: object | undefined
}

/** Set by the signature. The caller's own are dropped. */
export const signatureHeaders = ['authorization', 'date', 'x-amz-date', 'x-amz-security-token', 'x-amz-s3session-token']
export const contentHeader = 'x-amz-content-sha256'
/** A body whose chunks end in checksums instead of signatures. */
export const unsignedChunks = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'

/** The signer takes quadratic time for their names. Longer requests go into a body. */
const maxParameters = 250
const asyncHashFrom = 65_536

/** Changes the URL and the headers. Returns what would let anyone else repeat the request. */
export async function signRequest(
  request: Signable,
  { accessKeyId, secretAccessKey, sessionToken }: AwsKeys,
  { region, service }: SigningScope,
  now: Date,
): Promise<Secret[]> {
  const { SignatureV4 } = await import('@smithy/signature-v4')
  const isS3 = service === 's3'
  const { url, query } = canonical(request.url)
  const given = request.headers.filter(([name]) => !isOwn(name))
  const payload = chunkedPayload(request.headers) ?? (await hashOf(request))
  const signer = new SignatureV4({
    ...{ region, service, sha256: Sha256 },
    credentials: {
      ...{ accessKeyId, secretAccessKey: secretAccessKey.reveal() },
      ...(sessionToken && { sessionToken: sessionToken.reveal() }),
    },
    // S3 encodes the path once, and does not normalize it.
    uriEscapePath: !isS3,
  })
  const headers = Object.fromEntries(given.map(([name, value]) => [name, asText(value)]))
  const signed = await signer.sign(
    {
      ...{ protocol: url.protocol, hostname: url.hostname, path: url.pathname, method: request.method, query },
      headers: { ...headers, host: url.host, [contentHeader]: payload },
    },
    { signingDate: now },
  )
  const added = [...signatureHeaders, contentHeader].flatMap((name): [string, string][] => {
    const value = signed.headers[name]
    return value === undefined ? [] : [[name, value]]
  })
  request.url = url
  request.headers = [...given, ...added]
  const signature = /Signature=([0-9a-f]{64})$/.exec(signed.headers['authorization'] ?? '')?.[1]
  if (signature === undefined) throw new ServiceError('internal', { detail: 'the request was not signed' })
  return [new Secret(signature)]
}

function isOwn(name: string): boolean {
  return name === contentHeader || signatureHeaders.includes(name)
}

function chunkedPayload(headers: Signable['headers']): string | undefined {
  return headers.some(([name, value]) => name === contentHeader && value === unsignedChunks)
    ? unsignedChunks
    : undefined
}

/** A long body is hashed in another thread. */
async function hashOf({ body, bodyStream }: Signable): Promise<string> {
  if (bodyStream) return 'UNSIGNED-PAYLOAD'
  if (!body || body.length < asyncHashFrom)
    return createHash('sha256')
      .update(body ?? '')
      .digest('hex')
  return Buffer.from(await crypto.subtle.digest('SHA-256', new Uint8Array(body))).toString('hex')
}

/** Header values have one character per byte, and are signed as the bytes that are sent. */
function asText(value: string): string {
  return Buffer.from(value, 'latin1').toString()
}

function canonical(from: URL): { url: URL; query: Record<string, string[]> } {
  const url = new URL(from)
  url.pathname = url.pathname.replace(/%[0-9a-f]{2}|[^\w./~-]/gi, respelled)
  const pairs = from.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair): [string, string | undefined] => {
      const at = pair.indexOf('=')
      return at === -1 ? [decoded(pair), undefined] : [decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))]
    })
    // The caller's attempt at a signature in the query.
    .filter(([name]) => !/^x[-_]amz[-_]/i.test(name))
  const query = new Map<string, string[]>()
  for (const [name, value = ''] of pairs) query.set(name, [...(query.get(name) ?? []), value])
  if (query.size > maxParameters) {
    const message = `The query has more than ${maxParameters} parameters. Send them in the body.`
    throw new ServiceError('invalid_url', { field: 'url', message })
  }
  url.search = pairs
    .map(([name, value]) => (value === undefined ? encoded(name) : `${encoded(name)}=${encoded(value)}`))
    .join('&')
  return { url, query: Object.fromEntries(query) }
}

/** Everything but unreserved characters is escaped, in capitals (RFC 3986 §2.3). An escaped slash stays one. */
function respelled(one: string): string {
  const byte = one.length === 3 ? parseInt(one.slice(1), 16) : one.charCodeAt(0)
  const character = String.fromCharCode(byte)
  return /[\w.~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

/** A plus is a blank, as in forms. Bytes that are no UTF-8 become what the signer can encode. */
function decoded(text: string): string {
  const bytes = text
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, respelled)
}

/** What the signer hashes with: a class in its interface. */
const Sha256 = function (secret?: Parameters<typeof createHmac>[1]) {
  const hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret)
  return {
    update: (data: Uint8Array) => void hash.update(data),
    digest: () => Promise.resolve(new Uint8Array(hash.digest())),
    reset: () => undefined,
  }
} as unknown as NonNullable<ConstructorParameters<typeof Signer>[0]['sha256']>
