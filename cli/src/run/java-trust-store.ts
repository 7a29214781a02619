/** A trust store in the format of Java's KeyStore "JKS", which every release of Java reads without further settings. */
import { createHash, X509Certificate } from 'node:crypto'

/** Java's own trust store has it as well. It protects nothing: the certificates are public. */
export const trustStorePassword = 'changeit'

export function javaTrustStore(pem: string): Buffer {
  const certificates = certificatesIn(pem)
  const content = Buffer.concat([
    Buffer.from([0xfe, 0xed, 0xfe, 0xed]),
    number(2),
    number(certificates.length),
    ...certificates.map((der, index) =>
      Buffer.concat([
        ...[number(2), text(`certificate-${index}`), Buffer.alloc(8)],
        ...[text('X.509'), number(der.length), der],
      ]),
    ),
  ])
  const password = Buffer.from(trustStorePassword, 'utf16le').swap16()
  const digest = createHash('sha1').update(password).update('Mighty Aphrodite').update(content).digest()
  return Buffer.concat([content, digest])
}

/** Skips what is no certificate: a bundle of the system may have one that this Node can't read. */
export function certificatesIn(pem: string): Buffer[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block).raw]
    } catch {
      return []
    }
  })
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** As DataOutputStream.writeUTF writes ASCII. */
function text(value: string): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value.length)
  return Buffer.concat([bytes, Buffer.from(value, 'ascii')])
}
