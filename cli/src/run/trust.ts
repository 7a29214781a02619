/**
 * Files of certificates for the tools of a run: what they trust already, and the authority of the gateway. Nothing else is
 * added, and no check is turned off.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { javaTrustStore } from './java-trust-store.ts'

type Environment = Record<string, string | undefined>

/** Variables that name all certificates that a tool trusts. */
const complete = [
  ...['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'AWS_CA_BUNDLE', 'PIP_CERT'],
  ...['CARGO_HTTP_CAINFO', 'NPM_CONFIG_CAFILE'],
]
/** Variables that name certificates beside the tool's own. */
const additional = ['NODE_EXTRA_CA_CERTS', 'DENO_CERT']

/** Where systems keep the certificates that they trust, in one file. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
  '/usr/local/share/certs/ca-root-nss.crt',
]

export interface Trust {
  variables: Record<string, string>
  javaTrustStore: string
  /** Variables whose file could not be read. */
  unread: string[]
}

/** `authority` is PEM, `folder` belongs to the run. */
export function writeTrust(folder: string, env: Environment, authority: string): Trust {
  const written = new Map<string, string>()
  const unread: string[] = []
  const bundle = (before: string): string => {
    const known = written.get(before)
    if (known !== undefined) return known
    const file = join(folder, `certificates-${written.size + 1}.pem`)
    writeFileSync(file, `${before.trim()}\n${authority}`.trimStart(), { mode: 0o600 })
    written.set(before, file)
    return file
  }
  const given = (name: string): string | undefined => {
    const file = valueOf(env, name)
    if (file === undefined) return undefined
    const text = readCertificates(file)
    if (text === undefined) unread.push(name)
    return text
  }
  const all = given('SSL_CERT_FILE') ?? systemCertificates()
  const java = join(folder, 'certificates.jks')
  writeFileSync(java, javaTrustStore(`${all}\n${authority}`), { mode: 0o600 })
  const entries = [
    ...complete.map((name) => [name, bundle(name === 'SSL_CERT_FILE' ? all : (given(name) ?? all))] as const),
    ...additional.map((name) => [name, bundle(given(name) ?? '')] as const),
  ]
  const wgetrc = join(folder, 'wgetrc')
  const settings = wgetSettings(env)
  const [, theirs = ''] = /^[ \t]*ca[-_]?certificate[ \t]*=[ \t]*(\S+)/im.exec(settings) ?? []
  const ofWget = bundle(readCertificates(theirs) ?? all)
  writeFileSync(wgetrc, `${settings}\nca_certificate = ${ofWget}\n`, { mode: 0o600 })
  return { variables: { ...Object.fromEntries(entries), WGETRC: wgetrc }, javaTrustStore: java, unread }
}

/** Built with GnuTLS, as Debian's is, wget reads no variable for certificates but this one for its settings. */
function wgetSettings(env: Environment): string {
  try {
    return readFileSync(env['WGETRC'] ?? join(env['HOME'] ?? '', '.wgetrc'), 'latin1')
  } catch {
    return ''
  }
}

/** npm reads its variables in any case. */
function valueOf(env: Environment, name: string): string | undefined {
  const found = name.startsWith('NPM_') ? Object.keys(env).find((one) => one.toUpperCase() === name) : name
  return (found !== undefined && env[found]) || undefined
}

function systemCertificates(): string {
  for (const file of systemBundles) {
    const text = readCertificates(file)
    if (text !== undefined) return text
  }
  return rootCertificates.join('\n')
}

function readCertificates(file: string): string | undefined {
  try {
    const text = statSync(file).isFile() ? readFileSync(file, 'latin1') : ''
    return text.includes('-----BEGIN ') ? text : undefined
  } catch {
    return undefined
  }
}
