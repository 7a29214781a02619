#!/usr/bin/env node
// Starts the built service, under Node 24 or newer whatever `node` is here.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'

if (Number(process.versions.node.split('.')[0]) >= 24) {
  const { runCommandLine } = await import('../dist/commands/command-line.js')
  await runCommandLine(process.argv.slice(2))
} else {
  const pinned = findPinnedNode()
  if (pinned === undefined) {
    console.error(`sallyport-server needs Node 24 or newer; this is ${process.version}.`)
    process.exit(1)
  }
  const child = spawn(pinned, process.argv.slice(1), { stdio: 'inherit' })
  // A terminal sends its Ctrl-C to both of us; SIGTERM is passed on.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('exit', (code) => process.exit(code ?? 1))
}

function findPinnedNode() {
  try {
    return createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}
