/**
 * The rules that presets define for a host. They apply to every provider on that host, so they can't be bypassed by
 * setting up GitHub by hand, or by proposing it under another name.
 */
import { memoizeByText } from '../../platform/cache/memoize.ts'
import { matchesHost } from '../api-hosts.ts'
import { accessRulesOf, mergeAccessRules } from './access-rules.ts'
import type { AccessRules } from './access-rules.ts'
import { compilePath } from './api-path.ts'
import type { ApiPath, PathRule } from './api-path.ts'
import { findPreset, presets } from './catalogue.ts'
import { allBodyChecks } from './preset.ts'
import type { BodyCheck, Preset } from './preset.ts'

export interface PresetRules {
  credentials: readonly PathRule[]
  batches: readonly PathRule[]
  /** Those of them that are GraphQL. */
  graphql: readonly PathRule[]
  /** Paths where a request names the types of records, and `credentialFields` apply. */
  queries: readonly PathRule[]
  /** GraphQL fields and record types that give access to credentials. */
  credentialFields: readonly string[]
  /** A record type that a body names is judged as the path below one of these. */
  recordPaths: readonly string[]
  /** All of them if no preset knows the host. */
  bodyChecks: ReadonlySet<BodyCheck>
  access: AccessRules
  /** Whether a preset knows the host. */
  isKnown: boolean
}

/** `host` is without a port: the rules apply on all ports. `presetId` is the provider's preset. */
export function presetRulesAt(host: string, presetId: string | null): PresetRules {
  return rulesOf(`${presetId ?? ''} ${host}`)
}

const rulesOf = memoizeByText((text): PresetRules => {
  const [presetId = '', host = ''] = text.split(' ')
  const known = presets.map((preset) => rulesAtItsHosts(preset, ruledAs(preset, host)))
  const own = findPreset(presetId)
  const all = own && !isHostOf(own, host) ? [...known, rulesElsewhere(own)] : known
  const named = presets.filter((preset) => preset === own || isHostOf(preset, host))
  return {
    credentials: all.flatMap(({ credentials }) => credentials),
    batches: all.flatMap(({ batches }) => batches),
    graphql: all.flatMap(({ graphql }) => graphql),
    queries: all.flatMap(({ queries }) => queries),
    credentialFields: all.flatMap(({ credentialFields }) => credentialFields),
    recordPaths: all.flatMap(({ recordPaths }) => recordPaths),
    bodyChecks: new Set(named.length > 0 ? named.flatMap(({ bodyChecks }) => bodyChecks) : allBodyChecks),
    access: mergeAccessRules(all.map(({ access }) => access)),
    isKnown: named.length > 0,
  }
})

function isHostOf({ apiHosts, sameCallsAt = [] }: Preset, host: string): boolean {
  return isOneOf(apiHosts, host) || isOneOf(sameCallsAt, host)
}

/** The host whose rules apply at this one. */
function ruledAs({ apiHosts, sameCallsAt = [] }: Preset, host: string): string {
  const [first = host] = apiHosts
  return isOneOf(sameCallsAt, host) && !isOneOf(apiHosts, host) ? first : host
}

function isOneOf(entries: readonly string[], host: string): boolean {
  return entries.some((entry) => matchesHost(entry, host))
}

function rulesAtItsHosts(preset: Preset, host: string): RulesOfPreset {
  return rulesWith(preset, { isHere: isHostOf(preset, host), isElsewhere: false }, (paths) =>
    paths.filter((entry) => matchesHost(entry.host, host)),
  )
}

/** For a self-hosted server: the same paths on any host. */
function rulesElsewhere(preset: Preset): RulesOfPreset {
  const { pathElsewhere } = preset
  const places = pathElsewhere === undefined ? [''] : ['', pathElsewhere]
  return rulesWith(preset, { isHere: true, isElsewhere: true }, (paths) =>
    paths.flatMap((entry) => places.map((place) => ({ ...entry, path: `${place}${entry.path}` }))),
  )
}

type RulesOfPreset = Omit<PresetRules, 'bodyChecks' | 'isKnown'>
type Select = <Path extends ApiPath>(paths: readonly Path[]) => readonly Path[]

function rulesWith(preset: Preset, place: { isHere: boolean; isElsewhere: boolean }, select: Select): RulesOfPreset {
  const { batchPaths = [], queryPaths = [], credentialFields = [], recordPath } = preset
  const compile = (paths: readonly ApiPath[]) => select(paths).map(compilePath)
  const batches = compile(batchPaths)
  const hasBatches = batches.length > 0
  return {
    credentials: compile(credentialPathsOf(preset)),
    batches,
    graphql: compile(batchPaths.filter(isGraphqlPath)),
    queries: compile(queryPaths),
    credentialFields: hasBatches ? credentialFields : [],
    recordPaths: hasBatches && recordPath !== undefined ? [recordPath] : [],
    access: accessRulesOf(preset, place, select),
  }
}

/** The version is Supabase's. */
export function isGraphqlPath({ path }: Pick<ApiPath, 'path'>): boolean {
  return /\/graphql(?:\/v1)?$/.test(path)
}

function credentialPathsOf({ credentialPaths }: Preset): readonly ApiPath[] {
  return typeof credentialPaths === 'string' ? [] : credentialPaths
}
