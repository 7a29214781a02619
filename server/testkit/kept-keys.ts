/** Shared RSA keys. Generating one takes longer than most tests, so the whole run shares them. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const known = new Map<string, KeyObject>()

/** The private key of this name and size. Outside a test run each process generates its own. */
export function keptKey(name: string, modulusLength = 2048): KeyObject {
  const file = `${name}-${modulusLength}.pem`
  const key = known.get(file) ?? createPrivateKey(findPem(file, modulusLength))
  known.set(file, key)
  return key
}

function findPem(name: string, modulusLength: number): string {
  const folder = process.env['TEST_KEYS']
  if (folder === undefined) return makePem(modulusLength)
  const file = join(folder, name)
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, makePem(modulusLength), { mode: 0o600 })
    try {
      linkSync(draft, file)
    } catch (error) {
      // Another process was faster, so its key is used.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    rmSync(draft)
  }
  return readFileSync(file, 'utf8')
}

function makePem(modulusLength: number): string {
  return generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
