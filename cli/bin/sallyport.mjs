#!/usr/bin/env node
// Runs the built command line. It needs nothing newer than Node 20, which `npx` most likely has.
import { existsSync } from 'node:fs'
import * as module from 'node:module'
import { fileURLToPath } from 'node:url'

const built = new URL('../dist/sallyport.js', import.meta.url)
if (Number(process.versions.node.split('.')[0]) < 20) {
  console.error(`sallyport needs Node 20 or newer; this is ${process.version}.`)
  process.exitCode = 1
} else if (!existsSync(fileURLToPath(built))) {
  console.error('sallyport is not built yet. In its clone: npm run build')
  process.exitCode = 1
} else {
  // Kept from one run to the next where Node can (22 and newer), beside its source: nobody else can write there.
  module.enableCompileCache?.(fileURLToPath(new URL('../dist/compile-cache', import.meta.url)))
  const { runCommandLine } = await import(built.href)
  await runCommandLine(process.argv.slice(2))
}
