/** What calls to a preset's API can do, in words for people. Only data: which of it a grant allows is told by its terms. */
import type { Ability } from '@sallyport/protocol/abilities'
import { matchesHost } from './api-hosts.ts'
import { findPreset } from './presets/catalogue.ts'

/** Those at the hosts that are asked for. */
export function abilitiesAt(presetId: string | null, hosts: readonly string[]): Ability[] {
  const abilities = (presetId === null ? undefined : findPreset(presetId))?.abilities ?? []
  return abilities
    .filter(({ host }) => hosts.some((one) => matchesHost(one, host)))
    .map(({ methods, scopes, ...rest }) => ({
      ...rest,
      ...(methods && { methods: [...methods] }),
      ...(scopes && { scopes: [...scopes] }),
    }))
}
