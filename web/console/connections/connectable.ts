/** What a user can connect: providers, and presets that need no admin, which become providers with the first account. */
import { matchesWords } from '@sallyport/protocol/search'
import type { Preset, Provider } from '@sallyport/sdk'

export type Method = Provider['auth_methods'][number]
export type Member = Method['members'][number]

export interface Connectable {
  slug: string
  name: string
  isVerified: boolean
  issuer: string | null
  hosts: string[]
  /** Undefined for a preset that nobody has connected yet. */
  providerId: string | undefined
  methods: Method[]
  hasDeviceFlow: boolean
  /** The provider's own pages. */
  docs: string[]
}

export function connectables(providers: readonly Provider[], presets: readonly Preset[]): Connectable[] {
  const known = providers.map(fromProvider)
  const offered = presets.filter(({ connectable, preset }) => connectable && !known.some(({ slug }) => slug === preset))
  return inOrder([...known, ...offered.map(fromPreset)])
}

export function fromProvider(provider: Provider): Connectable {
  return {
    ...{ slug: provider.slug, name: provider.provider_name, isVerified: provider.verified },
    ...{ issuer: provider.issuer_url, hosts: provider.api_hosts, providerId: provider.provider_id },
    ...{ methods: provider.auth_methods, hasDeviceFlow: provider.device_flow, docs: provider.docs },
  }
}

export function fromPreset(preset: Preset): Connectable {
  return {
    ...{ slug: preset.preset, name: preset.provider_name, isVerified: true },
    ...{ issuer: preset.issuer_url, hosts: preset.api_hosts, providerId: undefined },
    // OAuth needs a client of the operator's.
    ...{ methods: preset.auth_methods.filter(isForm), hasDeviceFlow: false, docs: preset.docs },
  }
}

/** Whether the user enters the credential, instead of signing in at the provider. */
export function isForm({ kind }: Method): boolean {
  return kind !== 'oauth2'
}

export function matches({ name, slug, issuer, hosts }: Omit<Connectable, 'providerId'>, wanted: string): boolean {
  return matchesWords([name, slug, issuer, ...hosts].join(' '), wanted)
}

const order = new Intl.Collator(undefined, { numeric: true })

/** Verified ones first: a name that an agent chose is never above them. */
function inOrder(all: readonly Connectable[]): Connectable[] {
  return all.toSorted((a, b) => Number(b.isVerified) - Number(a.isVerified) || order.compare(a.name, b.name))
}
