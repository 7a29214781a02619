#!/usr/bin/env node
// Starts the built service, under Node 24 or newer whatever `node` is here.
import { spawn } from 'node:child_process'
// Older versions lack some of these, and must come far enough to hand over.
import * as module from 'node:module'
import * as os from 'node:os'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

if (Number(process.versions.node.split('.')[0]) >= 24) {
  // Commands end soon.
  if (['serve', '--user', undefined].includes(process.argv[2])) startWithFewHelpers()
  // All that a call makes is dead once it is answered. V8 takes some of it for long-lived by where it was made, and then
  // keeps whatever that refers to: a tenth of each call went into it. Set first, as kept code is bound to such settings.
  setFlagsFromString('--no-allocation-site-pretenuring')
  // A call goes through many small functions. With more of them compiled into one it takes a twentieth less.
  setFlagsFromString('--max-inlined-bytecode-size=1000')
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=3000')
  // Compiled code is kept from one start to the next, beside its source: nobody else can write there.
  module.enableCompileCache(fileURLToPath(new URL('../dist/compile-cache', import.meta.url)))
  const { runCommandLine } = await import('../dist/sallyport-server.js')
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

/**
 * Node starts four helpers, which clear up memory, whatever the machine has. On few cores they push the thread aside that
 * answers; one for each other core leaves it its own. They have to be asked for when Node starts: this process starts
 * over, and is the same to whoever started it. A channel to its parent would not outlast that.
 */
function startWithFewHelpers() {
  const usual = 4
  const helpers = Math.max(1, Math.min(usual, os.availableParallelism() - 1))
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? '']
  if (helpers === usual || given.some((text) => text.includes('--v8-pool-size')) || process.channel) return
  const command = [process.execPath, `--v8-pool-size=${helpers}`, ...process.execArgv, ...process.argv.slice(1)]
  try {
    process.execve?.(process.execPath, command)
  } catch {
    // Where Node may start nothing (--permission), it goes on with those that it has.
  }
}

function findPinnedNode() {
  try {
    return module.createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}
