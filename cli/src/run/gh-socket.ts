/**
 * gh reads the path of a Unix socket from its configuration (`http_unix_socket`), and then sends its requests there without
 * TLS. That needs no certificate, so it works on macOS too, where programs in Go trust the keychain alone.
 */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { answerRefused } from './forward-request.ts'
import type { Forward } from './forward-request.ts'
import { closed } from './listener.ts'
import { Refused } from './refused.ts'
import { parseTarget, withPort } from './target.ts'

/** In bytes; longer paths are cut off by the system (104 on macOS). */
const longestPath = 103

export interface GhSocket {
  /** For GH_CONFIG_DIR. */
  configFolder: string
  close: () => Promise<void>
}

/** `folder` is for its owner alone: that is what protects the socket. Undefined if its path is too long. */
export async function startGhSocket(folder: string, forward: Forward): Promise<GhSocket | undefined> {
  const path = join(folder, 'gh.sock')
  if (Buffer.byteLength(path) > longestPath) return undefined
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const target = parseTarget(withPort(request.headers.host ?? ''))
    if (target) forward(target, request.url ?? '/', request, response)
    else answerRefused(response, new Refused(400, 'invalid_request', 'the request has no valid Host'))
  })
  await once(server.listen(path), 'listening')
  const configFolder = join(folder, 'gh')
  mkdirSync(configFolder, { mode: 0o700 })
  writeFileSync(join(configFolder, 'config.yml'), `version: 1\nhttp_unix_socket: ${JSON.stringify(path)}\n`, {
    mode: 0o600,
  })
  return { configFolder, close: () => closed(server) }
}
