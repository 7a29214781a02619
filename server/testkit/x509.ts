/** X.509 certificates (RFC 5280) in DER: P-256 keys, signed with SHA-256. Node can parse but not create them. */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isIPv6 } from 'node:net'

export interface KeyPair {
  publicKey: KeyObject
  privateKey: KeyObject
}

export interface CertificateRequest {
  commonName: string
  publicKey: KeyObject
  notBefore: Date
  notAfter: Date
  issuer: { commonName: string; publicKey: KeyObject; privateKey: KeyObject }
  /** A CA, or the names of a server certificate. */
  use: 'authority' | { names: readonly string[]; addresses: readonly string[] }
}

export function newKeyPair(): KeyPair {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

export function privatePem({ privateKey }: KeyPair): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** In PEM. */
export function makeCertificate(request: CertificateRequest): string {
  const { issuer, publicKey } = request
  const signedPart = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(randomBytes(16)),
    ecdsaWithSha256,
    nameOf(issuer.commonName),
    sequence(time(request.notBefore), time(request.notAfter)),
    nameOf(request.commonName),
    spki(publicKey),
    tagged(0xa3, sequence(...extensionsOf(request))),
  )
  const signature = sign('sha256', signedPart, issuer.privateKey)
  return pem(sequence(signedPart, ecdsaWithSha256, bits(0, signature)))
}

function extensionsOf({ use, publicKey, issuer }: CertificateRequest): Buffer[] {
  const issuerKey = extension('2.5.29.35', sequence(tagged(0x80, keyId(issuer.publicKey))))
  if (use === 'authority') {
    return [
      extension('2.5.29.19', sequence(tagged(0x01, Buffer.from([0xff]))), 'critical'),
      // keyCertSign, the sixth bit.
      extension('2.5.29.15', bits(2, Buffer.from([0b100])), 'critical'),
      extension('2.5.29.14', tagged(0x04, keyId(publicKey))),
      issuerKey,
    ]
  }
  const names = use.names.map((name) => tagged(0x82, Buffer.from(name)))
  const addresses = use.addresses.map((address) => tagged(0x87, addressBytes(address)))
  return [
    extension('2.5.29.19', sequence(), 'critical'),
    extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', sequence(...names, ...addresses)),
    issuerKey,
  ]
}

function extension(id: string, value: Buffer, critical?: 'critical'): Buffer {
  return sequence(oid(id), ...(critical ? [tagged(0x01, Buffer.from([0xff]))] : []), tagged(0x04, value))
}

/** RFC 7093 §2: any identifier will do that tells keys apart. */
function keyId(key: KeyObject): Buffer {
  return createHash('sha256').update(spki(key)).digest().subarray(0, 20)
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' })
}

function nameOf(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(oid('2.5.4.3'), tagged(0x0c, Buffer.from(commonName)))))
}

/** RFC 5280 §4.1.2.5: two digits for the year until 2049, then four. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '')
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits))
}

function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number))
  const [before = '', after] = address.split('::')
  const groups = (text = '') => text.split(':').filter((group) => group !== '')
  const missing = after === undefined ? 0 : 8 - groups(before).length - groups(after).length
  const all = [...groups(before), ...Array<string>(missing).fill('0'), ...groups(after)]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const digits = length.toString(16)
  const size = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, content])
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

/** Positive: a leading zero keeps the first bit from being read as a sign. */
function integer(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? Buffer.from([0]) : bytes.subarray(first)
  return tagged(0x02, (digits[0] ?? 0) < 0x80 ? digits : Buffer.concat([Buffer.from([0]), digits]))
}

function bits(unused: number, content: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([unused]), content]))
}

function oid(id: string): Buffer {
  const [first = 0, second = 0, ...rest] = id.split('.').map(Number)
  const inSevens = (value: number): number[] => (value < 0x80 ? [value] : [...inSevens(value >> 7), value & 0x7f])
  const bytes = [first * 40 + second, ...rest].flatMap((value) =>
    inSevens(value).map((seven, index, all) => (index < all.length - 1 ? seven | 0x80 : seven)),
  )
  return tagged(0x06, Buffer.from(bytes))
}

const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'))

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
