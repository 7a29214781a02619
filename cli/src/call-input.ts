/** What of a curl-like line makes the call: its headers and its body. */
import { usageError } from './failures.ts'
import { readInput } from './input-files.ts'
import type { Shell } from './shell.ts'
import { inLine } from './terminal-text.ts'

export interface CallInput {
  headers: Record<string, string>
  body: Buffer | undefined
}

export async function readCall(shell: Shell, headers: string[], data: string[]): Promise<CallInput> {
  const named = Object.fromEntries(headers.map(headerOf))
  const body = data.length === 0 ? undefined : await bodyOf(shell, data)
  const hasType = Object.keys(named).some((name) => name.toLowerCase() === 'content-type')
  return { headers: { ...(body && !hasType && { 'content-type': typeOf(body) }), ...named }, body }
}

function headerOf(text: string): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) {
    throw usageError(`-H: got "${inLine(text)}"; takes "Name: value"`)
  }
  return [name, value]
}

/** Several are joined with &, as curl does. A file goes as it is. */
async function bodyOf(shell: Shell, data: string[]): Promise<Buffer> {
  const parts: Buffer[] = []
  for (const one of data) {
    if (parts.length > 0) parts.push(Buffer.from('&'))
    if (one === '-' || one === '@-') parts.push(await shell.stdin())
    else parts.push(one.startsWith('@') ? await readInput(shell, one.slice(1), '-d') : Buffer.from(one))
  }
  return Buffer.concat(parts)
}

/** What is JSON goes as JSON; anything else as the form that curl would take it for. */
function typeOf(body: Buffer): string {
  try {
    JSON.parse(body.toString('utf8'))
    return 'application/json'
  } catch {
    return 'application/x-www-form-urlencoded'
  }
}
