/**
 * Batch requests: calls inside a call. The body is searched for anything that could be the path of a credential
 * endpoint, and refused if it can't be searched.
 */
import { namesCredentialField } from '../providers/presets/credential-fields.ts'
import { isForAnyPlace, matchesRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import type { PathReading } from '../providers/presets/path-readings.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import { withoutEscapes, withoutPercents } from '../providers/presets/undo-escapes.ts'
import { isCompressed } from './method-overrides.ts'
import type { JudgedCall } from './policy.ts'

const maxSearchedBytes = 512 * 1024
const maxPaths = 5_000
/** In all paths together. Base64, with a slash in every 64 characters, stays far below. */
const maxSegments = 150_000
const maxFolders = 10
/** Batch endpoints have short paths, and each path in the body is tried relative to all their parents. */
const maxPathLength = 300

/** Whether a call names, or could name, a type or field of credentials. */
export function namesCredentials(rules: PresetRules, { destination, headers, body }: JudgedCall): boolean {
  if (body && body.length > maxSearchedBytes) return true
  const text = body ? body.toString('latin1') : ''
  return isHidden(headers, text) || namesCredentialField(rules.credentialFields, `${destination.url.search}\n${text}`)
}

/** Whether a batch holds, or could hold, a call to a credential path. `own`: what the batch itself may be taken for. */
export function reachesCredentials(rules: PresetRules, call: JudgedCall, own: readonly string[]): boolean {
  const { path } = call.destination
  if (path.length > maxPathLength || namesCredentials(rules, call)) return true
  const texts = readableAs(call.body ? call.body.toString('latin1') : '')
  if (rules.credentials.length === 0) return false
  const found = pathsIn(texts)
  if (found === undefined) return true
  const readings = distinct([...found].flatMap(readingsOf))
  if (readings.reduce((count, { segments }) => count + segments.length, 0) > maxSegments) return true
  const methods = [...own, ...methodsIn(texts)]
  const [anywhere, placed] = [true, false].map((is) => rules.credentials.filter((rule) => isForAnyPlace(rule) === is))
  const words = { segments: [...new Set(readings.flatMap(({ segments }) => segments))], isJoined: undefined }
  if (anywhere?.some((rule) => matchesRule(rule, [{ ...words, hasDots: true }], methods))) return true
  // A path in the body may be relative to any parent of the batch endpoint.
  return foldersAbove(path).some((folder) => {
    const below = readings.map((reading) => readingBelow(folder, reading))
    return placed?.some((rule) => matchesRule(rule, below, methods))
  })
}

function distinct(readings: readonly PathReading[]): PathReading[] {
  const keyOf = ({ segments, isJoined }: PathReading) => `${segments.join('/')} ${isJoined?.map(Number).join('') ?? ''}`
  return [...new Map(readings.map((reading) => [keyOf(reading), reading])).values()]
}

function isHidden(headers: JudgedCall['headers'], text: string): boolean {
  return isCompressed(headers) || /transfer-encoding\s*:\s*(?:base64|quoted)/i.test(text)
}

function readableAs(text: string): Set<string> {
  const bare = text.replaceAll('\u0000', '')
  return new Set([bare, withoutEscapes(bare), withoutEscapes(withoutPercents(bare))])
}

/** Which of them belongs to which path is not known. */
function methodsIn(texts: Iterable<string>): Set<string> {
  const named = new Set<string>()
  for (const text of texts) {
    for (const [method] of text.matchAll(/\b(?:GET|HEAD|OPTIONS|POST|PUT|PATCH|MERGE|DELETE)\b/gi)) {
      named.add(method.toUpperCase() === 'MERGE' ? 'PATCH' : method.toUpperCase())
    }
  }
  return named
}

/** Undefined if there are too many. */
function pathsIn(texts: Iterable<string>): Set<string> | undefined {
  const paths = new Set<string>()
  for (const reading of texts) {
    // A JSON string may be a path without a leading slash. Elsewhere only words with a slash are paths.
    for (const [, value = ''] of reading.matchAll(/"([^"\s]{1,2000})"/g)) paths.add(pathOf(value))
    for (const word of reading.split(/[\s"'<>,]+/)) if (word.includes('/')) paths.add(pathOf(word))
    if (paths.size > maxPaths) return undefined
  }
  return paths
}

/** Without scheme and host, with a leading slash. */
function pathOf(text: string): string {
  const bare = text.replace(/^[a-z][\w+.-]*:\/*[^/]*/i, '')
  const path = bare === '' ? text : bare
  return path.startsWith('/') ? path : `/${path}`
}

function foldersAbove(path: string): PathReading[] {
  return readingsOf(path).flatMap((reading) =>
    Array.from({ length: Math.min(reading.segments.length + 1, maxFolders) }, (_, depth) => ({
      segments: reading.segments.slice(0, depth),
      isJoined: undefined,
      hasDots: reading.hasDots,
    })),
  )
}

/** Joins parts that were parsed once: parsing each whole path again would take quadratic time. */
function readingBelow(folder: PathReading, { segments, isJoined, hasDots }: PathReading): PathReading {
  return {
    segments: [...folder.segments, ...segments],
    isJoined: isJoined && [...folder.segments.map(() => false), ...isJoined],
    hasDots: hasDots || folder.hasDots,
  }
}
