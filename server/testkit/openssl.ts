/** A signer that shares no code with ours: the openssl command line. */
import { execFileSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { DeviceKey } from '@sallyport/protocol/jwk'
import { temporaryFolder } from './databases.ts'

export interface OpensslSigner {
  publicKey: DeviceKey
  /** In DER, as base64url. */
  sign: (message: string) => string
}

export function signedByOpenssl(t: Pick<TestContext, 'after'>): OpensslSigner {
  const file = join(temporaryFolder(t), 'key.pem')
  const pem = execFileSync('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout'])
  writeFileSync(file, pem)
  const { x = '', y = '' } = createPublicKey(pem).export({ format: 'jwk' })
  return {
    publicKey: { kty: 'EC', crv: 'P-256', x, y },
    sign: (message) =>
      execFileSync('openssl', ['dgst', '-sha256', '-sign', file], { input: message }).toString('base64url'),
  }
}
