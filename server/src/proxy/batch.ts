/**
 * Calls within a call. A body at a batch path is searched for whatever could be the path of one that hands out
 * credentials, and refused where it can't be searched.
 */
import { namesCredentialField } from '../providers/presets/credential-fields.ts'
import { matchesRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import { isCompressed } from './meant-methods.ts'
import type { JudgedCall } from './policy.ts'

const maxSearchedBytes = 512 * 1024
const maxPaths = 5_000

/** Whether a batch holds, or could hold, a call to a credential path. */
export function reachesCredentials(rules: PresetRules, { destination, headers, body }: JudgedCall): boolean {
  const { url, path } = destination
  const text = body ? body.toString('latin1') : ''
  if (isHidden(headers, text)) return true
  if (namesCredentialField(rules.credentialFields, `${url.search}\n${text}`)) return true
  if (rules.credentials.length === 0) return false
  const found = pathsIn(text)
  if (found === undefined) return true
  // What is written relative to some folder above the batch's own path is tried below each of them.
  const folders = foldersAbove(path)
  return [...found].some((one) =>
    folders.some((folder) => {
      const readings = readingsOf(`${folder}${one}`)
      return rules.credentials.some((rule) => matchesRule(rule, readings, undefined))
    }),
  )
}

function isHidden(headers: JudgedCall['headers'], text: string): boolean {
  const isTooLong = text.length > maxSearchedBytes
  return isTooLong || isCompressed(headers) || /transfer-encoding\s*:\s*(?:base64|quoted)/i.test(text)
}

/** Undefined where there are more than anyone puts into one batch. */
function pathsIn(text: string): Set<string> | undefined {
  const bare = text.replaceAll('\u0000', '')
  const plain = withoutEscapes(bare)
  const paths = new Set<string>()
  for (const reading of new Set([bare, plain, withoutEscapes(withoutPercents(bare))])) {
    // A member that is a path as a whole need not begin with a slash; elsewhere a word without one is a word.
    for (const [, value = ''] of reading.matchAll(/"([^"\s]{1,2000})"/g)) paths.add(pathOf(value))
    for (const word of reading.split(/[\s"'<>,]+/)) if (word.includes('/')) paths.add(pathOf(word))
    if (paths.size > maxPaths) return undefined
  }
  return paths
}

/** Without scheme and host, and with a slash before it. */
function pathOf(text: string): string {
  const [, path = text] = /^[a-z][\w+.-]*:\/*[^/]*(\/.*)?$/i.exec(text) ?? []
  return path.startsWith('/') ? path : `/${path}`
}

function foldersAbove(path: string): string[] {
  const segments = path.split('/').filter((part) => part !== '')
  return ['', ...segments.map((_, index) => `/${segments.slice(0, index + 1).join('/')}`)].slice(0, 10)
}

function withoutPercents(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}

function withoutEscapes(text: string): string {
  return text
    .replace(/\\+u00([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replace(/\\+([/"'])/g, '$1')
    .replace(/\\+[nrtbf]/g, ' ')
}
