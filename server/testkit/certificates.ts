/** Certificates for the tests, made by the openssl program: an authority of one test, and what it vouches for. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

export interface Subject {
  /** What the certificate is good for: names, and IP addresses. */
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

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-batch']

/** `folder` is the test's own, and goes with it. */
export async function createAuthority(folder: string): Promise<Authority> {
  const openssl = (...args: string[]) => execute('openssl', args, { cwd: folder, timeout: 30_000 })
  const caFile = join(folder, 'ca.pem')
  const subject = ['-subj', '/CN=Sallyport test authority']
  await openssl('req', '-x509', ...newKey, ...subject, '-days', '30', '-keyout', 'ca.key', '-out', caFile)

  const issue = async ({ names, addresses = [], expired = false }: Subject): Promise<Certificate> => {
    const id = randomBytes(8).toString('hex')
    const file = (ending: string) => `${id}.${ending}`
    const alternatives = [...names.map((name) => `DNS:${name}`), ...addresses.map((address) => `IP:${address}`)]
    writeFileSync(join(folder, file('cnf')), issuing(file('index'), alternatives))
    writeFileSync(join(folder, file('index')), '')
    await openssl('req', '-new', ...newKey, '-subj', `/CN=${id}`, '-keyout', file('key'), '-out', file('csr'))
    const dates = expired
      ? ['-startdate', '20000101000000Z', '-enddate', '20010101000000Z']
      : ['-startdate', '20000101000000Z', '-days', '30']
    const signed = ['-cert', caFile, '-keyfile', 'ca.key', '-in', file('csr'), '-out', file('crt')]
    await openssl('ca', '-config', file('cnf'), '-batch', '-notext', ...signed, ...dates)
    const read = (ending: string) => readFileSync(join(folder, file(ending)), 'utf8')
    return { cert: read('crt'), key: read('key') }
  }
  return { caFile, caPem: readFileSync(caFile, 'utf8'), issue }
}

let shared: Promise<Authority> | undefined

/** One for the whole process, where it does not matter which: making keys and certificates takes its time. */
export async function sharedAuthority(): Promise<Authority> {
  shared ??= createSharedAuthority()
  // Handing out the promise itself would lead node:test from the file that waits to the file that made it.
  return await shared
}

async function createSharedAuthority(): Promise<Authority> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-authority-'))
  process.on('exit', () => {
    rmSync(folder, { recursive: true, force: true })
  })
  const authority = await createAuthority(folder)
  const issued = new Map<string, Promise<Certificate>>()
  const issue = async (subject: Subject) => {
    const key = JSON.stringify(subject)
    const certificate = issued.get(key) ?? authority.issue(subject)
    issued.set(key, certificate)
    return await certificate
  }
  return { ...authority, issue }
}

/** `openssl ca` alone can date a certificate into the past, and takes the rest from a file. */
function issuing(index: string, alternatives: string[]): string {
  const authority = ['new_certs_dir = .', `database = ${index}`, 'rand_serial = yes', 'default_md = sha256']
  const leaf = ['basicConstraints = CA:FALSE', 'extendedKeyUsage = serverAuth']
  return [
    ...['[ca]', 'default_ca = authority'],
    ...['[authority]', ...authority, 'policy = any', 'x509_extensions = leaf'],
    ...['[any]', 'commonName = supplied'],
    ...['[leaf]', ...leaf, `subjectAltName = ${alternatives.join(',')}`, ''],
  ].join('\n')
}
