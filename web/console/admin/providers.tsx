import { useQuery } from '@tanstack/react-query'
import type { AdminClient, Preset, ProviderDetails } from '@sallyport/sdk'
import { Link } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Empty, Section, View } from '../../ui/view.tsx'
import { AddProvider } from './add-provider.tsx'
import { ProviderCard } from './provider-card.tsx'
import { SetUpProvider } from './set-up-provider.tsx'

/** `slug`: of the known provider to set up. */
export function Providers({ admin, slug }: { admin: AdminClient; slug?: string }) {
  const providers = useQuery({
    queryKey: ['admin', 'providers'],
    queryFn: ({ signal }) => admin.providers.list({ status: 'all', limit: 200 }, { signal }).all(),
  })
  const presets = useQuery({
    queryKey: ['admin', 'presets'],
    queryFn: async () => (await admin.providers.presets()).presets,
  })
  return (
    <Loaded query={providers}>
      {(all) => (
        <Loaded query={presets}>
          {(known) =>
            slug === undefined ? (
              <AllProviders admin={admin} providers={all} presets={known} />
            ) : (
              <OneProvider admin={admin} providers={all} preset={known.find(({ preset }) => preset === slug)} />
            )
          }
        </Loaded>
      )}
    </Loaded>
  )
}

interface OneProviderProps {
  admin: AdminClient
  providers: ProviderDetails[]
  preset: Preset | undefined
}

function OneProvider({ admin, providers, preset }: OneProviderProps) {
  if (preset) {
    const provider = providers.find(({ slug }) => slug === preset.preset)
    return <SetUpProvider key={preset.preset} admin={admin} preset={preset} provider={provider} />
  }
  return (
    <View title="Provider not found" lead="There is no known provider at this address.">
      <Link href="/admin" className={buttonLook('plain')}>
        All providers
      </Link>
    </View>
  )
}

interface AllProvidersProps {
  admin: AdminClient
  providers: ProviderDetails[]
  presets: Preset[]
}

function AllProviders({ admin, providers, presets }: AllProvidersProps) {
  const waiting = providers.filter(({ status }) => status === 'pending_credentials')
  const others = providers.filter((provider) => !waiting.includes(provider))
  return (
    <View title="Providers" lead="Services where users can connect accounts." isWide>
      {waiting.length > 0 && (
        <Section title="Waiting for credentials" note="Proposed by agents, or not fully configured.">
          <ul className="space-y-3">
            {waiting.map((provider) => (
              <ProviderCard key={provider.provider_id} admin={admin} provider={provider} />
            ))}
          </ul>
        </Section>
      )}
      <Section title="Configured">
        {others.length === 0 ? (
          <Empty title="No providers yet">Add one below so that users can connect their accounts.</Empty>
        ) : (
          <ul className="grid gap-3 2xl:grid-cols-2">
            {others.map((provider) => (
              <ProviderCard key={provider.provider_id} admin={admin} provider={provider} />
            ))}
          </ul>
        )}
      </Section>
      <AddProvider admin={admin} presets={presets} providers={providers} />
    </View>
  )
}
