/** What a call does: reads, changes something, or destroys something. */
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import type { PathReading } from '../providers/presets/path-readings.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import type { CallHead } from './body-checks.ts'
import type { JudgedCall, ProviderRules } from './policy.ts'

/** What is known of the API at the call's path. The sandbox has no preset. */
export interface ApiAt {
  preset: PresetRules | undefined
  readings: readonly PathReading[]
  signs?: ProviderRules['signs']
}

const readMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** `methods` are all that the upstream might execute the call as: the worst of them counts. */
export const accessClassOf: (call: JudgedCall, methods: readonly string[], api: ApiAt) => AccessClass = (
  ...[, methods]
) => {
  if (methods.includes('DELETE')) return 'destructive'
  return methods.every((method) => readMethods.has(method)) ? 'read' : 'write'
}

/** Whether the body has to be known to tell the class. */
export const isClassedByBody: (head: CallHead, api: ApiAt) => boolean = () => false
