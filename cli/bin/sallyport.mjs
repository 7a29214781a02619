#!/usr/bin/env node
// Runs the built command line. It needs nothing newer than Node 20, which `npx` most likely has.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const built = new URL('../dist/sallyport.js', import.meta.url)
if (Number(process.versions.node.split('.')[0]) < 20) {
  console.error(`sallyport needs Node 20 or newer; this is ${process.version}.`)
  process.exitCode = 1
} else if (!existsSync(fileURLToPath(built))) {
  console.error('sallyport is not built yet. In its clone: npm run build')
  process.exitCode = 1
} else {
  const { runCommandLine } = await import(built.href)
  await runCommandLine(process.argv.slice(2))
}
