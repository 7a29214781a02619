/**
 * What a call's body is inspected for, decided from its head: before a streamed body is read. A body with no checks is
 * never looked at, so it can be of any length.
 */
import type { Grant } from '../grants/grant.ts'
import { hasTerms } from '../grants/terms.ts'
import { ServiceError } from '../platform/errors.ts'
import { matchesRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import type { PathReading } from '../providers/presets/path-readings.ts'
import { presetRulesAt } from '../providers/presets/preset-rules.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import { isClassedByBody } from './access-class.ts'
import { hasOperationInBody } from './aws-call.ts'
import { mediaTypeOf } from './media-type.ts'
import type { BodyKind } from './media-type.ts'
import type { JudgedCall, ProviderRules } from './policy.ts'

/** `bodyLength`: if it is known before the body has arrived. */
export type CallHead = Omit<JudgedCall, 'body'> & { bodyLength?: number | undefined }

export interface BodyChecks {
  /** How it is read to find method overrides and credentials of the caller's own. Undefined: not at all. */
  parameters: BodyKind
  /** It can name types of records, some of which give access to credentials. */
  isQuery: boolean
  /** It contains calls. */
  isBatch: boolean
  /** It is GraphQL, with fields that give access to credentials. */
  isGraphql: boolean
  /** It can name the operation of a call to AWS. */
  isFormAction: boolean
  /** The grant's terms depend on what the call does, and it says so. */
  isClassed: boolean
}

/** `rules` is undefined in the sandbox, which has no provider. */
export function bodyChecksFor(head: CallHead, grant: Grant, rules: ProviderRules | undefined): BodyChecks {
  const { url, path } = head.destination
  const preset = rules && presetRulesAt(url.hostname, rules.preset)
  return checksAt(head, grant, rules, { preset, readings: readingsOf(path) })
}

/** The same for a path that was read, and rules that were found already. */
export function checksAt(
  head: CallHead,
  grant: Grant,
  rules: ProviderRules | undefined,
  { preset, readings }: { preset: PresetRules | undefined; readings: readonly PathReading[] },
): BodyChecks {
  const parameters = parametersOf(head, preset, { isLimited: limitsMethods(grant), signs: rules?.signs })
  const isClassed = hasTerms(grant) && isClassedByBody(head, { preset, readings, signs: rules?.signs })
  if (!preset) return { parameters, isQuery: false, isBatch: false, isGraphql: false, isFormAction: false, isClassed }
  const isAt = (paths: PresetRules['batches']) => paths.some((rule) => matchesRule(rule, readings, undefined))
  const isGraphql = isAt(preset.graphql)
  return {
    parameters,
    isQuery: isAt(preset.queries),
    isBatch: !isGraphql && isAt(preset.batches),
    isGraphql: isGraphql && preset.credentialFields.length > 0,
    isFormAction:
      preset.bodyChecks.has('form_action') && rules?.signs !== undefined && hasOperationInBody(rules.signs, head),
    isClassed,
  }
}

/** Whether it matters to the grant which method the upstream executes a call as. */
export function limitsMethods(grant: Grant): boolean {
  return grant.allowedMethods !== null || hasTerms(grant)
}

function parametersOf(
  { headers }: CallHead,
  preset: PresetRules | undefined,
  { isLimited, signs }: { isLimited: boolean; signs: ProviderRules['signs'] },
): BodyKind {
  const { kind } = mediaTypeOf(headers)
  // AWS takes neither: what its forms do is judged by their operation.
  if (kind === 'form') return signs ? undefined : kind
  if (preset && !preset.bodyChecks.has('method_override')) return undefined
  return isLimited || kind === 'unknown' ? kind : undefined
}

export function mustBeInspected({ parameters, ...others }: BodyChecks): boolean {
  return parameters !== undefined || Object.values(others).includes(true)
}

/** A body that must be inspected is buffered, and may have this length, also once it is decompressed. */
export const maxInspectedBytes = 1024 * 1024

export function assertInspectable(body: Buffer | undefined, checks: BodyChecks): void {
  if (!body || body.length <= maxInspectedBytes || !mustBeInspected(checks)) return
  const isUntyped = checks.parameters === 'unknown'
  throw new ServiceError('body_not_inspectable', {
    field: 'body',
    ...(isUntyped && {
      message:
        'Without a valid Content-Type this body could be a form, and it is too long to be inspected. Name its type.',
    }),
  })
}
