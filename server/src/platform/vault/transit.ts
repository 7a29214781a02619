/**
 * Has HashiCorp Vault decrypt the master key. What is stored here can then be decrypted only with Vault's consent, which
 * can be withdrawn: revoke the token or disable the key, and no instance starts any more. Loaded only where it is set.
 */
import { ConfigError } from '../config/settings.ts'
import { createEgress } from '../egress/egress.ts'
import type { EgressRequest } from '../egress/egress.ts'
import { collectFromLoopback } from '../egress/loopback-http.ts'
import { ServiceError } from '../errors.ts'
import { Secret } from '../secret.ts'
import { readCiphertexts, readToken } from './transit-settings.ts'
import type { TransitValues } from './transit-settings.ts'

interface TransitConfig extends TransitValues {
  egressCaFile: { pem: string } | undefined
}

interface Answer {
  status: number
  body: Buffer
}

const usualLimits = { connectMs: 5_000, firstByteMs: 10_000, wholeMs: 10_000, maxBytes: 65_536 }

/** The keys in the form of SALLYPORT_MASTER_KEY. Everything is read and asked for anew each time. */
export async function unwrapMasterKeys(config: TransitConfig, endpoint: URL, limits = usualLimits): Promise<Secret> {
  const egress = createEgress({
    // Vault may be at an address that nothing else may call.
    allow: [{ kind: 'place', host: endpoint.hostname.replace(/^\[|\]$/g, ''), port: Number(endpoint.port || 443) }],
    userAgent: 'Sallyport',
    ...(config.egressCaFile && { ca: config.egressCaFile.pem }),
    bounds: { maxSocketsPerPool: 1, maxSockets: 1 },
  })
  const send: (request: EgressRequest) => Promise<Answer> =
    endpoint.protocol === 'http:' ? collectFromLoopback : egress.collect
  try {
    const keys: string[] = []
    for (const ciphertext of readCiphertexts(config.masterKey) ?? refuse('SALLYPORT_MASTER_KEY is not vault:v1:….')) {
      const token = readToken(config.vaultToken) ?? refuse(`${config.vaultToken.name} gives nothing.`)
      const request: EgressRequest = {
        url: endpoint,
        method: 'POST',
        headers: [
          ['content-type', 'application/json'],
          ['x-vault-request', 'true'],
          ['x-vault-token', token],
        ],
        body: Buffer.from(JSON.stringify({ ciphertext })),
        suppliedBy: 'operator',
        limits,
      }
      keys.push(plaintextOf(endpoint, await send(request).catch((error: unknown) => refuseFor(endpoint, error))))
    }
    return new Secret(keys.join(','))
  } finally {
    await egress.close()
  }
}

/** Vault's own words are not shown: they may quote what was sent. */
function plaintextOf(endpoint: URL, { status, body }: Answer): string {
  const path = endpoint.pathname.slice('/v1/'.length)
  const said = `Vault (${endpoint.host}) answered ${status}.`
  if (status === 403) refuse(`${said} Give SALLYPORT_VAULT_TOKEN a valid token whose policy allows update on ${path}.`)
  if (status === 503) refuse(`${said} It is sealed or not ready: unseal it, then start the service again.`)
  if (status === 404) refuse(`${said} It has no ${path}: check the path of the transit engine and the name of the key.`)
  if (status === 400) refuse(`${said} It can't decrypt SALLYPORT_MASTER_KEY with this key: was another one used?`)
  if (status !== 200) refuse(`${said} Expected 200.`)
  try {
    const { data } = JSON.parse(body.toString()) as { data?: { plaintext?: unknown } }
    if (typeof data?.plaintext === 'string') return data.plaintext
  } catch {
    // Reported below.
  }
  return refuse(`The answer of Vault (${endpoint.host}) has no data.plaintext. Is this the address of Vault?`)
}

function refuseFor(endpoint: URL, error: unknown): never {
  if (!(error instanceof ServiceError)) throw error
  return refuse(`Vault (${endpoint.host}) can't be used: ${error.detail ?? error.code}.`)
}

function refuse(problem: string): never {
  throw new ConfigError([`SALLYPORT_MASTER_KEY_VAULT: ${problem}`])
}
