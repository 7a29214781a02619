#!/usr/bin/env node
// Starts the built service, under Node 24 or newer whatever `node` is here.
import { spawn } from 'node:child_process'
// Older versions lack some of these, and must come far enough to hand over.
import * as module from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

/**
 * For glibc: larger blocks are mapped one by one and go back to the system when they are freed. Each TLS connection has a
 * buffer of 64 KB of which a page or two are used: mapped, the rest takes no memory. What V8 needs to compile a function
 * (tens of MB for a moment) would otherwise stay with the thread that compiled it. A free block that is large enough goes
 * first, so the heap is extended by 4 KB at a time, not 128 KB: otherwise every third buffer is carved out of it. The helper
 * threads allocate in the same heap: each heap of its own kept a few MB of free blocks.
 */
const allocatorSettings = { MALLOC_MMAP_THRESHOLD_: '32768', MALLOC_TOP_PAD_: '4096', MALLOC_ARENA_MAX: '1' }

if (Number(process.versions.node.split('.')[0]) >= 24) {
  // Commands end soon.
  if (['serve', '--user', undefined].includes(process.argv[2])) startWithOptions()
  // All that a call makes is dead once it is answered. V8 takes some of it for long-lived by where it was made, and then
  // keeps whatever that refers to: a tenth of each call went into it. Set first, as kept code is bound to such settings.
  setFlagsFromString('--no-allocation-site-pretenuring')
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
 * What can only be said when Node starts. This process starts over with it (`execve`), and is the same to whoever started
 * it. A channel to its parent would not outlast that; workers get the options of the first process. What the operator
 * has set goes first.
 */
function startWithOptions() {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ')
  const options = Object.entries(nodeOptions()).filter(([name]) => !given.includes(name))
  if (options.length === 0 || process.channel) return
  const command = options.map(([name, value]) => `${name}=${value}`)
  const env = { ...allocatorSettings, ...process.env }
  try {
    process.execve?.(
      process.execPath,
      [process.execPath, ...command, ...process.execArgv, ...process.argv.slice(1)],
      env,
    )
  } catch {
    // Where Node may start nothing (--permission), it goes on as it is.
  }
}

function nodeOptions() {
  return {
    // In MB. By default V8 lets the young generation grow to 110 MB and keeps that. With 8 it takes 16 MB, and calls cost no
    // more processor time; with 4 they cost a tenth more.
    '--max-semi-space-size': 8,
    // How much the old generation may grow between two collections. V8 would let it grow to four times what is alive: with
    // 1,000 accounts that is 140 MB of garbage, and each collection then stops all calls for 40 ms instead of 10.
    '--heap-growing-percent': 30,
  }
}

function findPinnedNode() {
  try {
    return module.createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}
