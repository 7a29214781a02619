/**
 * The rules that presets define for a host. They apply to every provider on that host, so they can't be bypassed by
 * setting up GitHub by hand, or by proposing it under another name.
 */
import { memoizeByText } from '../../platform/cache/memoize.ts'
import { matchesHost } from '../api-hosts.ts'
import { compilePath } from './api-path.ts'
import type { ApiPath, PathRule } from './api-path.ts'
import { findPreset, presets } from './catalogue.ts'
import type { Preset } from './preset.ts'

export interface PresetRules {
  credentials: readonly PathRule[]
  batches: readonly PathRule[]
  /** Paths where a request names the types of records, and `credentialFields` apply. */
  queries: readonly PathRule[]
  /** GraphQL fields and record types that give access to credentials. */
  credentialFields: readonly string[]
}

/** `host` is without a port: the rules apply on all ports. `presetId` is the provider's preset. */
export function presetRulesAt(host: string, presetId: string | null): PresetRules {
  return rulesOf(`${presetId ?? ''} ${host}`)
}

const rulesOf = memoizeByText((text): PresetRules => {
  const [presetId = '', host = ''] = text.split(' ')
  const known = presets.map((preset) => rulesAtItsHosts(preset, host))
  const own = findPreset(presetId)
  const all = own && !isHostOf(own, host) ? [...known, rulesElsewhere(own)] : known
  return {
    credentials: all.flatMap(({ credentials }) => credentials),
    batches: all.flatMap(({ batches }) => batches),
    queries: all.flatMap(({ queries }) => queries),
    credentialFields: all.flatMap(({ credentialFields }) => credentialFields),
  }
})

function isHostOf({ apiHosts }: Preset, host: string): boolean {
  return apiHosts.some((entry) => matchesHost(entry, host))
}

function rulesAtItsHosts(preset: Preset, host: string): PresetRules {
  const atHost = (paths: readonly ApiPath[]) => paths.filter((entry) => matchesHost(entry.host, host)).map(compilePath)
  const batches = atHost(preset.batchPaths ?? [])
  return {
    credentials: atHost(credentialPathsOf(preset)),
    batches,
    queries: atHost(preset.queryPaths ?? []),
    credentialFields: batches.length > 0 ? (preset.credentialFields ?? []) : [],
  }
}

/** For a self-hosted server: the same paths on any host. */
function rulesElsewhere(preset: Preset): PresetRules {
  const { batchPaths = [], queryPaths = [], credentialFields = [], pathElsewhere } = preset
  const places = pathElsewhere === undefined ? [''] : ['', pathElsewhere]
  const anywhere = (paths: readonly ApiPath[]) =>
    paths.flatMap((entry) => places.map((place) => compilePath({ ...entry, path: `${place}${entry.path}` })))
  return {
    credentials: anywhere(credentialPathsOf(preset)),
    batches: anywhere(batchPaths),
    queries: anywhere(queryPaths),
    credentialFields,
  }
}

function credentialPathsOf({ credentialPaths }: Preset): readonly ApiPath[] {
  return typeof credentialPaths === 'string' ? [] : credentialPaths
}
