/** Node reads HTTPS_PROXY from 22.21 and 24.5 on. In an older one only programs with a proxy client of their own do. */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { findProgram } from './program.ts'

/** A sentence about the Node that runs this program, if it is too old. */
export function oldNodeOf(program: string, path: string | undefined): string | undefined {
  const isNode = basename(program) === 'node'
  if (!isNode && !/^#!.*\bnode\b/.test(firstLineOf(program))) return undefined
  try {
    const node = isNode ? program : findProgram('node', path)
    const version = execFileSync(node, ['--version'], { encoding: 'utf8', timeout: 5000 }).trim()
    if (readsProxies(version)) return undefined
    return `Node ${version} ignores HTTPS_PROXY, which needs 22.21, 24.5 or newer: what its programs call may not go through Sallyport`
  } catch {
    return undefined
  }
}

export function readsProxies(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21)
}

function firstLineOf(file: string): string {
  const start = Buffer.alloc(256)
  try {
    const descriptor = openSync(file, 'r')
    try {
      return start.toString('latin1', 0, readSync(descriptor, start)).split('\n', 1)[0] ?? ''
    } finally {
      closeSync(descriptor)
    }
  } catch {
    return ''
  }
}
