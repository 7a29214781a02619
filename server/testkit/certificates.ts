/** Certificates for the tests and the demo: a CA, and the certificates it signs. The CA's key is not stored. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificate, newKeyPair, privatePem } from './x509.ts'

export interface Subject {
  /** The subject alternative names of the certificate. */
  names: string[]
  addresses?: string[]
  expired?: boolean
}

export interface Certificate {
  cert: string
  key: string
}

export interface Authority {
  caFile: string
  caPem: string
  issue: (subject: Subject) => Promise<Certificate>
}

const longAgo = new Date('2000-01-01T00:00:00Z')
const dayMs = 86_400_000

/** Writes the CA's certificate to `folder` as ca.pem. */
export async function createAuthority(folder: string, commonName = 'Sallyport test authority'): Promise<Authority> {
  const issuer = { commonName, ...newKeyPair() }
  const notAfter = new Date(Date.now() + 30 * dayMs)
  const dates = { notBefore: longAgo, notAfter }
  const caPem = makeCertificate({ commonName, publicKey: issuer.publicKey, ...dates, issuer, use: 'authority' })
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, caPem)

  const issue = async ({ names, addresses = [], expired = false }: Subject): Promise<Certificate> => {
    const keys = newKeyPair()
    const cert = makeCertificate({
      commonName: randomBytes(8).toString('hex'),
      publicKey: keys.publicKey,
      notBefore: longAgo,
      notAfter: expired ? new Date('2001-01-01T00:00:00Z') : notAfter,
      issuer,
      use: { names, addresses },
    })
    return { cert, key: privatePem(keys) }
  }
  return { caFile, caPem, issue }
}

let shared: Promise<Authority> | undefined

/** One CA for the whole process, for tests that need no particular one. */
export async function sharedAuthority(): Promise<Authority> {
  shared ??= createSharedAuthority()
  // Returning the promise itself would make node:test attribute the waiting test to the file that created the promise.
  return await shared
}

async function createSharedAuthority(): Promise<Authority> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-authority-'))
  process.on('exit', () => {
    rmSync(folder, { recursive: true, force: true })
  })
  return createAuthority(folder)
}
