/**
 * X.509 certificates of the gateway (RFC 5280): an authority that signs nothing but leaves, and leaves for one host each.
 * All keys are P-256. They pass OpenSSL's strict checks, which Python 3.13 makes by default.
 */
import { createHash, createPublicKey, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509'
import { memoizeByObject } from '../platform/cache/memoize.ts'
import { addressIn } from '../platform/http/tunnels/tunnel-target.ts'

export interface Validities {
  notBefore: Date
  notAfter: Date
}

interface Issuer {
  commonName: string
  privateKey: KeyObject
}

/** In PEM. It may issue leaves and no other authorities. */
export function authorityCertificate(self: Issuer, dates: Validities): string {
  const key = subjectKey(createPublicKey(self.privateKey))
  return certificate(self, {
    ...{ commonName: self.commonName, dates, key },
    extensions: [
      critical(id_ce_basicConstraints, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      critical(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign)),
      extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(key.id)),
      extension(id_ce_authorityKeyIdentifier, issuedBy(key.id)),
    ],
  })
}

/** In PEM, for a TLS server of this name or address. */
export function leafCertificate(issuer: Issuer, host: string, publicKey: KeyObject, dates: Validities): string {
  const key = subjectKey(publicKey)
  const address = addressIn(host)
  const name = new GeneralName(address === undefined ? { dNSName: host } : { iPAddress: address })
  return certificate(issuer, {
    // RFC 5280, appendix A.1: ub-common-name is 64.
    ...{ commonName: host.length <= 64 ? host : 'Sallyport gateway', dates, key },
    extensions: [
      ...ofAnyLeaf,
      extension(id_ce_subjectAltName, new SubjectAlternativeName([name])),
      extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(key.id)),
      authorityKeyIdentifier(issuer.privateKey),
    ],
  })
}

const ofAnyLeaf = [
  critical(id_ce_basicConstraints, new BasicConstraints()),
  critical(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature)),
  extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth])),
]

const authorityKeyIdentifier = memoizeByObject((privateKey: KeyObject) =>
  extension(id_ce_authorityKeyIdentifier, issuedBy(subjectKey(createPublicKey(privateKey)).id)),
)

interface SubjectKey {
  info: SubjectPublicKeyInfo
  id: Buffer
}

interface Subject {
  commonName: string
  dates: Validities
  key: SubjectKey
  extensions: Extension[]
}

const ecdsaWithSha256 = new AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' })

function certificate(issuer: Issuer, { commonName, dates, key, extensions }: Subject): string {
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: toArrayBuffer(newSerial()),
    signature: ecdsaWithSha256,
    issuer: named(issuer.commonName),
    validity: new Validity({ notBefore: inSeconds(dates.notBefore), notAfter: inSeconds(dates.notAfter) }),
    subject: named(commonName),
    subjectPublicKeyInfo: key.info,
    extensions: new Extensions(extensions),
  })
  const signed = Buffer.from(AsnConvert.serialize(tbsCertificate))
  return toPem(sequence(signed, ecdsaWithSha256Der, bitString(sign('sha256', signed, issuer.privateKey))))
}

const ecdsaWithSha256Der = Buffer.from(AsnConvert.serialize(ecdsaWithSha256))

/** In DER. To encode a whole certificate once more would double what a leaf costs. */
function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function bitString(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.alloc(1), bytes]))
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

/** 128 bits that read as a positive integer without a leading zero (RFC 5280 §4.1.2.2). */
function newSerial(): Buffer {
  const serial = randomBytes(16)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  return serial
}

/** The identifier is one of RFC 7093 §2. */
const subjectKey = memoizeByObject((publicKey: KeyObject): SubjectKey => {
  const info = AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo)
  const id = createHash('sha256').update(Buffer.from(info.subjectPublicKey)).digest().subarray(0, 20)
  return { info, id }
})

function issuedBy(keyId: Buffer): AuthorityKeyIdentifier {
  return new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(keyId) })
}

function extension(extnID: string, value: object, isCritical = false): Extension {
  return new Extension({ extnID, critical: isCritical, extnValue: new OctetString(AsnConvert.serialize(value)) })
}

function critical(extnID: string, value: object): Extension {
  return extension(extnID, value, true)
}

function named(commonName: string): Name {
  const value = new AttributeValue({ utf8String: commonName })
  return new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: '2.5.4.3', value })])])
}

/** Certificates have no milliseconds. */
function inSeconds(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1000) * 1000)
}

function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}

function toPem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
