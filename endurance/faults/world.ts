/** The environment of the service: an API for all callers, one that fails on demand, and a DNS server for both. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RequestListener } from 'node:http'
import type { Scope } from '../../bench/processes.ts'
import { createAuthority } from '../../server/testkit/certificates.ts'
import { startNameServer } from '../../server/testkit/name-server.ts'
import type { NameServer } from '../../server/testkit/name-server.ts'
import { freePort } from '../../server/testkit/ports.ts'
import { startTlsUpstream } from '../../server/testkit/tls-upstream.ts'
import { answer } from '../upstream.ts'

export interface World {
  folder: string
  caFile: string
  /** Method and path of each call that reached either API. */
  seen: string[]
  host: string
  failing: FailingApi
  names: NameServer
  /** Replaces Node: runs the service with our DNS server in its /etc/resolv.conf. */
  node: string
}

interface FailingApi {
  host: string
  name: string
  set: (behaviour: Behaviour) => Promise<void>
}

export type Behaviour = 'answers' | 'hangs' | 'resets' | 'refuses'

export async function startWorld(scope: Scope): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-faults-'))
  scope.after(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  const authority = await createAuthority(folder)
  const certificate = await authority.issue({ names: ['api.test', 'failing.test'], addresses: ['127.0.0.1'] })
  const seen: string[] = []
  const record =
    (listener: RequestListener): RequestListener =>
    (request, response) => {
      seen.push(`${request.method} ${request.url}`)
      listener(request, response)
    }
  const upstream = await startTlsUpstream(scope, certificate, record(sometimesClosing()))
  const port = await freePort()
  let behaviour: Behaviour = 'refuses'
  let close: () => unknown = () => undefined
  scope.after(() => close())
  const failing = record((request, response) => {
    if (behaviour === 'hangs') return
    if (behaviour === 'resets') request.socket.destroy()
    else answer(request, response.setHeader('connection', 'close'))
  })
  const names = await startNameServer(scope, { 'api.test': ['127.0.0.1'], 'failing.test': ['127.0.0.1'] })
  return {
    folder,
    caFile: authority.caFile,
    seen,
    host: `api.test:${upstream.port}`,
    failing: {
      host: `failing.test:${port}`,
      name: 'failing.test',
      set: async (next) => {
        const isOpen = behaviour !== 'refuses'
        behaviour = next
        if (next === 'refuses') await close()
        else if (!isOpen)
          await startTlsUpstream({ after: (ending) => (close = ending as () => unknown) }, certificate, failing, {
            port,
          })
      },
    },
    names,
    node: writeLauncher(folder, names.address),
  }
}

/** Closes every third connection after its response, so that names are resolved and connections opened all the time. */
function sometimesClosing(): RequestListener {
  let count = 0
  return (request, response) => {
    if (count++ % 3 === 0) response.setHeader('connection', 'close')
    answer(request, response)
  }
}

function writeLauncher(folder: string, nameServer: string): string {
  const resolvConf = join(folder, 'resolv.conf')
  writeFileSync(resolvConf, `nameserver ${nameServer}\n`)
  const launcher = join(folder, 'node')
  const start = `mount --bind ${resolvConf} /etc/resolv.conf && exec "$0" "$@"`
  writeFileSync(launcher, `#!/bin/sh\nexec unshare --mount sh -c '${start}' ${process.execPath} "$@"\n`)
  chmodSync(launcher, 0o700)
  return launcher
}
