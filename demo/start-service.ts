/** The service as `npm start` runs it, in its own process. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Service {
  baseUrl: string
  /** Signs the owner in, once. */
  link: string
  adminTokenFile: string
  /** GET without a body, otherwise POST. */
  asAdmin: (path: string, body?: object) => Promise<unknown>
  /** Stops it; the second call stops it immediately. */
  stop: () => void
  /** The exit code, once it has exited. */
  ended: Promise<number>
}

const root = join(import.meta.dirname, '..')

export interface ServiceWish {
  port: number
  folder: string
  env: NodeJS.ProcessEnv
}

/** If it exits before it is ready, it has printed the reason. */
export async function startService({ port, folder, env }: ServiceWish): Promise<Service | { ended: Promise<number> }> {
  const child = spawn(
    process.execPath,
    ['--import', join(root, 'demo/end-with-parent.mjs'), join(root, 'server/bin/sallyport-server.mjs')],
    {
      cwd: root,
      env: { ...env, PORT: String(port), SALLYPORT_DATA_DIR: folder },
      // Its own start screen is not shown. Ctrl-C goes to the demo, which passes it on once.
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      detached: true,
    },
  )
  const ended = once(child, 'exit').then(([code]) => (typeof code === 'number' ? code : 1))
  const link = await Promise.race([linkOf(child), ended.then(() => undefined)])
  if (link === undefined) return { ended }
  const baseUrl = `http://localhost:${port}`
  const adminTokenFile = join(folder, 'admin-token')
  return {
    baseUrl,
    link,
    adminTokenFile,
    asAdmin: (path, body) => ask(baseUrl + path, readFileSync(adminTokenFile, 'utf8').trim(), body),
    stop: () => void child.kill('SIGTERM'),
    ended,
  }
}

/** Parsed from the start screen that the service prints when it is ready. */
function linkOf({ stdout }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    stdout?.setEncoding('utf8').on('data', (more: string) => {
      text += more
      const [link] = /(?<!\S)http:[^\s#]+#login_token=\S+(?=\s)/.exec(text) ?? []
      if (link !== undefined) resolve(link)
    })
  })
}

async function ask(url: string, token: string, body: object | undefined): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
  const answer = await fetch(url, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
  if (!answer.ok) throw new Error(`The service answered ${answer.status}: ${await answer.text()}`)
  return answer.json()
}
