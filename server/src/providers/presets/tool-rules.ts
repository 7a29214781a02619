/** What presets say about tools that call an API as if Sallyport were not there. */
import { memoizeByText } from '../../platform/cache/memoize.ts'
import { matchesHost } from '../api-hosts.ts'
import { scopesAt } from '../aws/signing-scopes.ts'
import { compilePath, matchesRule } from './api-path.ts'
import type { PathRule } from './api-path.ts'
import { findPreset, presets } from './catalogue.ts'
import { readingsOf } from './path-readings.ts'

interface Format {
  format: 'git_text' | 's3_xml'
  rule: PathRule
}

const formatsAt = memoizeByText((host): Format[] =>
  presets.flatMap(({ errorFormats = [], authMethods }) => {
    const signs = authMethods.flatMap((method) => method.signs ?? [])
    const services = scopesAt(
      signs.map((entry) => ({ region: null, ...entry })),
      host,
    ).map(({ service }) => service)
    return errorFormats.flatMap((entry): Format[] => {
      const { format } = entry
      const isHere = format === 's3_xml' ? services.includes(entry.service) : matchesHost(entry.host, host)
      return isHere ? [{ format, rule: compilePath(format === 's3_xml' ? { path: '/' } : entry) }] : []
    })
  }),
)

/** How an error of ours is written so that the tools of this API show it. `host` is without a port. */
export function errorFormatAt(host: string, path: string): Format['format'] | undefined {
  const formats = formatsAt(host)
  if (formats.length === 0) return undefined
  const readings = readingsOf(path)
  return formats.find(({ rule }) => matchesRule(rule, readings, undefined))?.format
}

/** Hosts where a provider's tools read files without a credential. */
export function openHostsOf(presetId: string | null): readonly string[] {
  return findPreset(presetId ?? '')?.openHosts ?? []
}
