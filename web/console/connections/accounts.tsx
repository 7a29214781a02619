import type { Connection, Grant } from '@sallyport/sdk'
import { Link } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Badge, Empty, Theirs, View } from '../../ui/view.tsx'
import { useActiveGrants, useConnections, useProviders } from '../lists.ts'
import { Account } from './account.tsx'
import type { Wish } from './begin.ts'
import { byProvider } from './by-provider.ts'
import type { ProviderAccounts } from './by-provider.ts'

interface AccountsProps {
  onStart: (wish: Wish) => Promise<void>
}

/** Accounts, grouped by provider. */
export function Accounts({ onStart }: AccountsProps) {
  const connections = useConnections()
  const grants = useActiveGrants()
  return (
    <View
      title="Connections"
      isWide
      lead="Your accounts with other services. Agents use them only as far as you allow, and never see a token."
      actions={
        <Link href="/connections/new" className={buttonLook('main')}>
          Connect an account
        </Link>
      }
    >
      <Loaded query={connections} shape="cards">
        {(accounts) =>
          accounts.length === 0 ? (
            <Empty title="No accounts connected yet">
              <p>Connect one so that agents can request access to it. Nothing is allowed until you approve.</p>
            </Empty>
          ) : (
            <Loaded query={grants} shape="cards">
              {(granted) => (
                <div className="space-y-8">
                  {byProvider(accounts).map((group) => (
                    <Group key={group.providerId} group={group} grants={granted} onStart={onStart} />
                  ))}
                </div>
              )}
            </Loaded>
          )
        }
      </Loaded>
    </View>
  )
}

function Group({ group, grants, onStart }: AccountsProps & { group: ProviderAccounts; grants: Grant[] }) {
  const { data: providers } = useProviders()
  const { providerId, name, isVerified, accounts } = group
  const provider = providers?.find(({ provider_id: id }) => id === providerId)
  const hasDeviceFlow = provider?.device_flow ?? false
  const again =
    (way: Wish['way']) =>
    ({ connection_id: connectionId }: Connection) =>
      onStart({ way, provider: { provider_id: providerId }, providerName: name, connectionId })
  return (
    <section className="space-y-3">
      <h2 className="flex flex-wrap items-center gap-2 text-base">
        <Theirs>{name}</Theirs>
        {!isVerified && <Badge tone="warn">unverified</Badge>}
      </h2>
      <ul className="grid gap-4 xl:grid-cols-2 2xl:grid-cols-3">
        {accounts.map((account) => (
          <li key={account.connection_id} className="min-w-0">
            <Account
              account={account}
              method={provider?.auth_methods.find(({ name: one }) => one === account.auth_method)}
              grants={grants.filter(({ connection_id: id }) => id === account.connection_id)}
              onSignIn={again('browser')}
              onCode={hasDeviceFlow ? again('device') : undefined}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}
