/** mitmproxy with an addon that sets a header: what one would take otherwise to put a credential in. It has no policy or record. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, isListening } from '../server/testkit/ports.ts'
import type { Scope } from './processes.ts'
import type { Proxy } from './tunnels.ts'

/** Its program: the machine's, or one that is installed from PyPI, which takes a minute the first time. */
export function findMitmdump(say: (line: string) => void): string | undefined {
  if (spawnSync('mitmdump', ['--version']).status === 0) return 'mitmdump'
  const folder = join(tmpdir(), 'sallyport-bench-mitmproxy')
  const program = join(folder, 'bin/mitmdump')
  if (existsSync(program)) return program
  say('installing mitmproxy')
  spawnSync('python3', ['-m', 'venv', folder])
  spawnSync(join(folder, 'bin/pip'), ['install', '--quiet', '--retries', '1', 'mitmproxy'])
  return existsSync(program) ? program : undefined
}

const addon = `
class AddCredential:
    def request(self, flow):
        flow.request.headers["authorization"] = "Bearer ${'t'.repeat(40)}"

addons = [AddCredential()]
`

export async function startMitmproxy(
  scope: Scope,
  program: string,
  caFile: string,
): Promise<{ name: string; pid: number; port: number; proxy: Proxy }> {
  const folder = join(dirname(caFile), 'mitmproxy')
  mkdirSync(folder)
  writeFileSync(join(folder, 'addon.py'), addon)
  const port = await freePort()
  const options = [`confdir=${folder}`, `ssl_verify_upstream_trusted_ca=${caFile}`]
  const words = ['--listen-host', '127.0.0.1', '--listen-port', String(port), '-s', join(folder, 'addon.py')]
  const child = spawn(program, ['--quiet', ...words, ...options.flatMap((option) => ['--set', option])], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exit = once(child, 'exit')
  scope.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const authority = join(folder, 'mitmproxy-ca-cert.pem')
  for (let attempt = 0; !existsSync(authority) || !(await isListening(port)); attempt++) {
    if (attempt === 300) throw new Error('mitmproxy did not start')
    await sleep(100)
  }
  const proxy = { port, ca: readFileSync(authority, 'utf8'), credentials: ['Basic bm9ib2R5Og=='] }
  return { name: 'mitmproxy', pid: child.pid ?? 0, port, proxy }
}
