import { useQuery } from '@tanstack/react-query'
import type { AdminClient } from '@sallyport/sdk'
import { Loaded } from '../../ui/loading.tsx'
import { Empty, Section, View } from '../../ui/view.tsx'
import { AddProvider } from './add-provider.tsx'
import { ProviderCard } from './provider-card.tsx'

export function Providers({ admin }: { admin: AdminClient }) {
  const providers = useQuery({
    queryKey: ['admin', 'providers'],
    queryFn: ({ signal }) => admin.providers.list({ status: 'all', limit: 200 }, { signal }).all(),
  })
  return (
    <View
      title="Providers"
      lead="Services where users can connect accounts. For OAuth, register an app with the provider, using the redirect URL shown."
    >
      <Loaded query={providers}>
        {(all) => {
          const waiting = all.filter(({ status }) => status === 'pending_credentials')
          const others = all.filter((provider) => !waiting.includes(provider))
          return (
            <>
              {waiting.length > 0 && (
                <Section title="Waiting for credentials" note="Proposed by agents, or not fully configured.">
                  <ul className="space-y-3">
                    {waiting.map((provider) => (
                      <ProviderCard key={provider.provider_id} admin={admin} provider={provider} />
                    ))}
                  </ul>
                </Section>
              )}
              <AddProvider admin={admin} providers={all} />
              <Section title="Configured">
                {others.length === 0 ? (
                  <Empty title="No providers yet">Add one above so that users can connect their accounts.</Empty>
                ) : (
                  <ul className="space-y-3">
                    {others.map((provider) => (
                      <ProviderCard key={provider.provider_id} admin={admin} provider={provider} />
                    ))}
                  </ul>
                )}
              </Section>
            </>
          )
        }}
      </Loaded>
    </View>
  )
}
