/** What a preset knows about the access class of calls, compiled for a host. */
import { accessClasses } from '@sallyport/protocol/grant-terms'
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import { compilePath, matchesExactly, matchesRule } from './api-path.ts'
import type { PathRule } from './api-path.ts'
import type { PathReading } from './path-readings.ts'
import type { AccessData, Preset } from './preset.ts'

/** Of none: read. */
export function worstOf(classes: readonly AccessClass[]): AccessClass {
  return accessClasses[Math.max(0, ...classes.map((one) => accessClasses.indexOf(one)))] ?? 'destructive'
}

type DataOf<Name extends 'reads' | 'destructive'> = NonNullable<AccessData[Name]>[number]

export interface MilderRule extends Pick<DataOf<'reads'>, 'contentType' | 'body'> {
  path: PathRule
}

export interface WorseRule extends Pick<DataOf<'destructive'>, 'parameter'> {
  path: PathRule
}

export interface AccessRules {
  getIsRead: boolean
  reads: readonly MilderRule[]
  writes: readonly WorseRule[]
  destructive: readonly WorseRule[]
  batches: readonly MilderRule[]
  operations: Record<'reads' | 'writes' | 'destructive', readonly string[]>
}

/** The methods, and the readings of the path, that an upstream could execute a call as. */
export interface Place {
  methods: readonly string[]
  readings: readonly PathReading[]
  /** Whether there is but one reading (`readsOneWay`). */
  isPlain: boolean
}

export const noAccessRules: AccessRules = mergeAccessRules([])

export function mergeAccessRules(all: readonly AccessRules[]): AccessRules {
  return {
    getIsRead: all.every(({ getIsRead }) => getIsRead),
    reads: all.flatMap(({ reads }) => reads),
    writes: all.flatMap(({ writes }) => writes),
    destructive: all.flatMap(({ destructive }) => destructive),
    batches: all.flatMap(({ batches }) => batches),
    operations: {
      reads: all.flatMap(({ operations }) => operations.reads),
      writes: all.flatMap(({ operations }) => operations.writes),
      destructive: all.flatMap(({ operations }) => operations.destructive),
    },
  }
}

/**
 * `select` chooses the rules that apply at a host. `isHere`: whether the preset does. `isElsewhere`: on a server of its kind,
 * where paths of its other hosts can mean anything.
 */
export function accessRulesOf(
  { access = {}, apiHosts }: Preset,
  { isHere, isElsewhere }: { isHere: boolean; isElsewhere: boolean },
  select: <Rule extends DataOf<'reads'> | DataOf<'destructive'>>(rules: readonly Rule[]) => readonly Rule[],
): AccessRules {
  const compile = <Rule extends DataOf<'reads'> | DataOf<'destructive'>>(rules: readonly Rule[] = []) =>
    select(rules).map((rule) => ({ ...rule, path: compilePath(rule) }))
  const compileMilder = (rules: readonly DataOf<'reads'>[] = []) =>
    compile(rules.filter((rule) => !isElsewhere || rule.host === apiHosts[0] || rule.contentType !== undefined))
  const { reads = [], writes = [], destructive = [] } = (isHere && access.operations) || {}
  return {
    getIsRead: !isHere || access.getIsRead !== false,
    reads: compileMilder(access.reads),
    writes: compile(access.writes),
    destructive: compile(access.destructive),
    batches: compileMilder(access.batches),
    operations: { reads, writes, destructive },
  }
}

const milderByDefault: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST'])

/** Whether the call is this one and can't be another. */
export function isSurelyAt({ path }: MilderRule, { methods, readings, isPlain }: Place): boolean {
  const covered = path.methods ?? milderByDefault
  return isPlain && methods.every((method) => covered.has(method)) && matchesExactly(path, readings)
}

/** Whether the call could be this one. */
export function mayBeAt({ path }: WorseRule, { methods, readings }: Place): boolean {
  return matchesRule(path, readings, methods)
}
