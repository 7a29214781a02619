/** The API that measured calls go to: its own process, with a certificate of a CA made for this run. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from '../server/testkit/certificates.ts'
import { startListener } from './processes.ts'
import type { Scope } from './processes.ts'

export interface TestUpstream {
  host: string
  caFile: string
  files: { cert: string; key: string; ca: string }
}

/** It has more addresses of this machine if they are given. */
export async function startTestUpstream(scope: Scope, addresses: string[] = []): Promise<TestUpstream> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-bench-'))
  scope.after(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  const authority = await createAuthority(folder)
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1', ...addresses] })
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), ca: authority.caPem }
  writeFileSync(files.cert, certificate.cert)
  writeFileSync(files.key, certificate.key)
  const { port } = await startListener(scope, 'upstream.ts', [files.cert, files.key, addresses.join()])
  return { host: `localhost:${port}`, caFile: authority.caFile, files }
}
