/**
 * Verifies AWS Signature Version 4 as AWS does, from a request as it arrived. Written from AWS's description of the
 * algorithm ("Create a signed AWS API request", "Signature calculations for the authorization header") and from the
 * published test vectors (aws-vectors.ts), without any of the service's code.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

export interface ArrivedRequest {
  method: string
  /** Path and query as they stood in the request line. */
  target: string
  /** In order, with repetitions. */
  headers: readonly (readonly [name: string, value: string])[]
  body: Buffer
}

export interface AwsServer {
  region: string
  service: string
  secretOf: (accessKeyId: string) => { secretAccessKey: string; sessionToken?: string } | undefined
  now: Date
}

export type Verdict =
  | { accessKeyId: string; signature: string }
  | { refused: string; stringToSign?: string; canonicalRequest?: string }

const authorization =
  /^AWS4-HMAC-SHA256 Credential=([^/,]+)\/(\d{8})\/([^/,]+)\/([^/,]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
const unhashed = new Set(['UNSIGNED-PAYLOAD', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'])
const quarterHourMs = 900_000

export function verifyAws(request: ArrivedRequest, server: AwsServer): Verdict {
  const all = new Map<string, string[]>()
  for (const [name, value] of request.headers) {
    const key = name.toLowerCase()
    all.set(key, [...(all.get(key) ?? []), value])
  }
  const one = (name: string) => (all.get(name)?.length === 1 ? all.get(name)?.[0] : undefined)
  const [path = '', ...rest] = request.target.split('?')
  const pairs = pairsIn(rest.join('?'))
  if (pairs.some(([name]) => /^x-amz-(?:signature|credential|security-token)$/i.test(name))) {
    return { refused: 'the query has a signature too' }
  }
  const [, accessKeyId = '', date, region, service, names = '', given = ''] =
    authorization.exec(one('authorization') ?? '') ?? []
  if (given === '') return { refused: 'no valid authorization header' }
  if (region !== server.region || service !== server.service) return { refused: `scoped to ${region}/${service}` }
  const known = server.secretOf(accessKeyId)
  if (!known) return { refused: 'unknown access key' }
  if (known.sessionToken !== one('x-amz-security-token')) return { refused: 'not its session token' }
  const time = one('x-amz-date') ?? ''
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time) ?? []
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (!time.startsWith(date ?? '-') || !(Math.abs(at - server.now.getTime()) <= quarterHourMs)) {
    return { refused: `not of this time: ${time}` }
  }
  const signed = names.split(';')
  const unsigned = [...all.keys()].find(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !signed.includes(name),
  )
  if (unsigned !== undefined || !signed.includes('host')) return { refused: `not signed: ${unsigned ?? 'host'}` }
  const isS3 = service === 's3'
  const declared = one('x-amz-content-sha256')
  const actual = sha256(request.body)
  if (isS3 && declared === undefined) return { refused: 'no x-amz-content-sha256' }
  const isUnhashed = isS3 && declared !== undefined && unhashed.has(declared)
  if (declared !== undefined && declared !== actual && !isUnhashed) return { refused: 'another body than was signed' }
  const canonicalRequest = [
    request.method,
    isS3 ? s3Path(path) : normalizedPath(path),
    pairs
      .map(([name, value]) => [encode(Buffer.from(name)), encode(Buffer.from(value))] as const)
      .sort((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]))
      .map(([name, value]) => `${name}=${value}`)
      .join('&'),
    ...signed.map((name) => `${name}:${(all.get(name) ?? []).map(trimmed).join(',')}`),
    '',
    signed.join(';'),
    isUnhashed ? declared : actual,
  ].join('\n')
  const stringToSign = [
    'AWS4-HMAC-SHA256',
    time,
    `${date}/${region}/${service}/aws4_request`,
    sha256(Buffer.from(canonicalRequest, 'latin1')),
  ].join('\n')
  const key = [date ?? '', region, service, 'aws4_request'].reduce<Buffer>(
    (secret, part) => hmac(secret, part),
    Buffer.from(`AWS4${known.secretAccessKey}`),
  )
  const expected = hmac(key, stringToSign)
  if (timingSafeEqual(expected, Buffer.from(given, 'hex'))) return { accessKeyId, signature: given }
  return { refused: 'the signature does not match', stringToSign, canonicalRequest }
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function trimmed(value: string): string {
  return value.trim().replace(/ +/g, ' ')
}

/** All but letters, digits, hyphen, period, underscore and tilde. */
function encode(bytes: Buffer): string {
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte)
    return /[\w.~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}

/** What the request line has as Latin-1, one character a byte. */
function decode(text: string): Buffer {
  const bytes = text.replace(/%([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1')
}

function pairsIn(query: string): [string, string][] {
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=')
      const [name, value] = at === -1 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
      // AWS reads a plus as a blank.
      return [decode(name.replaceAll('+', ' ')).toString(), decode(value.replaceAll('+', ' ')).toString()]
    })
}

/** The key's name encoded once, with its slashes. S3 reads a plus as a blank too. */
function s3Path(path: string): string {
  return path
    .split('/')
    .map((segment) => encode(decode(segment.replaceAll('+', ' '))).replaceAll('%2F', '/'))
    .join('/')
}

/** RFC 3986 §5.2.4, then what arrived is encoded: an encoded path is encoded twice. */
function normalizedPath(path: string): string {
  const kept: string[] = []
  for (const segment of path.split('/').slice(1)) {
    if (segment === '..') kept.pop()
    else if (segment !== '.' && segment !== '') kept.push(encode(Buffer.from(segment, 'latin1')))
  }
  const isFolder = /\/\.{0,2}$/.test(path) && kept.length > 0
  return `/${kept.join('/')}${isFolder ? '/' : ''}`
}
