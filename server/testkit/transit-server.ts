/** The transit engine of HashiCorp Vault: it encrypts and decrypts for real, and fails as Vault does. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { TestContext } from 'node:test'
import { json } from 'node:stream/consumers'
import type { Certificate } from './certificates.ts'
import { listen } from './tls-upstream.ts'

export interface TransitServer {
  /** The settings of a service whose master key is this one. */
  settingsFor: (...masterKeys: string[]) => Record<string, string>
  token: string
  /** What it does instead of its work. */
  fault: 'sealed' | 'silent' | { status: number; body: string } | undefined
  /** How many requests came. */
  asked: () => number
}

export async function startTransit(
  t: Pick<TestContext, 'after'>,
  { certificate, host = '127.0.0.1' }: { certificate?: Certificate; host?: string } = {},
): Promise<TransitServer> {
  const key = randomBytes(32)
  let asked = 0
  const encrypt = (plaintext: string) => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', key, nonce)
    const bytes = Buffer.concat([nonce, cipher.update(plaintext, 'base64'), cipher.final(), cipher.getAuthTag()])
    return `vault:v1:${bytes.toString('base64')}`
  }
  const decrypt = (ciphertext: string) => {
    const bytes = Buffer.from(ciphertext.replace('vault:v1:', ''), 'base64')
    const opening = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16))
    return Buffer.concat([opening.update(bytes.subarray(12, -16)), opening.final()]).toString('base64')
  }
  const answer: RequestListener = (request, response) => {
    asked++
    const say = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body))
    const { fault } = server
    if (fault === 'silent') return
    if (typeof fault === 'object') response.writeHead(fault.status).end(fault.body)
    else if (fault === 'sealed') say(503, { errors: ['Vault is sealed'] })
    else if (request.headers['x-vault-token'] !== server.token) say(403, { errors: ['permission denied'] })
    else if (`${request.method} ${request.url}` !== 'POST /v1/transit/decrypt/sallyport') say(404, { errors: [] })
    else {
      void json(request).then((body) => {
        try {
          say(200, { data: { plaintext: decrypt((body as { ciphertext: string }).ciphertext) } })
        } catch {
          say(400, { errors: ['cipher: message authentication failed'] })
        }
      })
    }
  }
  const { port } = await listen(t, certificate ? createSecureServer(certificate, answer) : createServer(answer))
  const server: TransitServer = {
    token: `hvs.${randomBytes(24).toString('base64url')}`,
    fault: undefined,
    asked: () => asked,
    settingsFor: (...masterKeys) => ({
      SALLYPORT_MASTER_KEY: masterKeys.map(encrypt).join(),
      SALLYPORT_MASTER_KEY_VAULT: `${certificate ? 'https' : 'http'}://${host}:${port}/v1/transit/decrypt/sallyport`,
      SALLYPORT_VAULT_TOKEN: server.token,
    }),
  }
  return server
}
