/**
 * What a call's body is searched for, decided from its head: before a streamed body is read. A body with no checks is
 * never looked at, so it can be of any length.
 */
import type { Grant } from '../grants/grant.ts'
import { ServiceError } from '../platform/errors.ts'
import { matchesRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import type { PathReading } from '../providers/presets/path-readings.ts'
import { presetRulesAt } from '../providers/presets/preset-rules.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import { bodyKindToSearch, possibleMethods } from './method-overrides.ts'
import type { BodyKind } from './parameters.ts'
import type { JudgedCall, ProviderRules } from './policy.ts'

export type CallHead = Omit<JudgedCall, 'body'>

export interface BodyChecks {
  /** How it is searched for method overrides and for credentials of the caller's own. Undefined: not at all. */
  parameters: BodyKind | undefined
  /** It names types of records, some of which give access to credentials. */
  isQuery: boolean
  /** It contains calls. */
  isBatch: boolean
}

/** `rules` is undefined in the sandbox, which has no provider. */
export function bodyChecksFor(head: CallHead, grant: Grant, rules: ProviderRules | undefined): BodyChecks {
  const parameters = bodyKindToSearch(head.headers, grant.allowedMethods !== null)
  if (!rules) return { parameters, isQuery: false, isBatch: false }
  const { url, path } = head.destination
  const methods = possibleMethods({ ...head, body: undefined }, false)
  return { parameters, ...presetChecks(presetRulesAt(url.hostname, rules.preset), readingsOf(path), methods) }
}

export function mustBeInspected({ parameters, isQuery, isBatch }: BodyChecks): boolean {
  return parameters !== undefined || isQuery || isBatch
}

/** A body that must be inspected is buffered, and may have this length, also once it is decompressed. */
export const maxInspectedBytes = 1024 * 1024

export function assertInspectable(bytes: number): void {
  if (bytes > maxInspectedBytes) throw new ServiceError('body_not_inspectable', { field: 'body' })
}

export function presetChecks(
  preset: PresetRules,
  readings: readonly PathReading[],
  methods: readonly string[],
): Pick<BodyChecks, 'isQuery' | 'isBatch'> {
  return {
    isQuery: preset.queries.some((rule) => matchesRule(rule, readings, methods)),
    isBatch: preset.batches.some((rule) => matchesRule(rule, readings, methods)),
  }
}
