/** HAProxy in front of the instances, with the configuration of docs/reliability.md. Only the addresses differ. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Scope } from '../../bench/processes.ts'
import { codeBlocks } from '../../e2e/code-blocks.ts'
import { eventually } from '../../e2e/running-service.ts'
import { isListening } from '../../server/testkit/ports.ts'

export async function startHaproxy(scope: Scope, folder: string, port: number, servers: number[]): Promise<void> {
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, configuration(port, servers))
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exit = once(child, 'exit')
  scope.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`HAProxy ended with ${child.exitCode}: ${output}`)
    return isListening(port)
  }, `HAProxy does not listen: ${output}`)
}

function configuration(port: number, servers: number[]): string {
  const documented = codeBlocks().find(({ file, language }) => file === 'docs/reliability.md' && language === 'haproxy')
  if (!documented) throw new Error('docs/reliability.md shows no configuration for HAProxy')
  const ports = servers.values()
  const text = documented.code
    .replace(/^( *bind ).*$/m, `$1127.0.0.1:${port}`)
    .replaceAll(/^( *server \S+) \S+/gm, (_, start: string) => `${start} 127.0.0.1:${ports.next().value}`)
  if (!ports.next().done) throw new Error(`docs/reliability.md shows fewer than ${servers.length} servers`)
  return text
}
