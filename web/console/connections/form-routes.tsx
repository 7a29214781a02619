/** The forms at addresses of their own. */
import { Link, useLocation } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { View } from '../../ui/view.tsx'
import { useConnections, usePresets, useProviders } from '../lists.ts'
import type { Wish } from './begin.ts'
import { ConnectForm } from './connect-form.tsx'
import { connectables, fromProvider } from './connectable.ts'
import { useTellConnected } from './connecting.tsx'
import { ReplaceCredential } from './replace-form.tsx'

export function ConnectRoute({ slug, onStart }: { slug: string; onStart: (wish: Wish) => Promise<void> }) {
  const [, goTo] = useLocation()
  const tellConnected = useTellConnected()
  const providers = useProviders()
  const presets = usePresets()
  return (
    <Loaded query={providers} shape="view">
      {(known) => (
        <Loaded query={presets} shape="view">
          {(catalogue) => {
            const provider = connectables(known, catalogue).find((one) => one.slug === slug)
            if (!provider) return <NotThere to="/connections/new" />
            const connected = async () => {
              goTo('/connections')
              await tellConnected()
            }
            const back = () => {
              goTo('/connections/new')
            }
            return <ConnectForm provider={provider} onStart={onStart} onConnected={connected} onBack={back} />
          }}
        </Loaded>
      )}
    </Loaded>
  )
}

export function ReplaceRoute({ id }: { id: string }) {
  const [, goTo] = useLocation()
  const tellConnected = useTellConnected()
  const connections = useConnections()
  const providers = useProviders()
  const back = () => {
    goTo('/connections')
  }
  return (
    <Loaded query={connections} shape="view">
      {(accounts) => (
        <Loaded query={providers} shape="view">
          {(known) => {
            const account = accounts.find(({ connection_id: one }) => one === id)
            const provider = known.find(({ provider_id: one }) => one === account?.provider_id)
            if (!account || !provider) return <NotThere to="/connections" />
            const replaced = async () => {
              back()
              await tellConnected('The new credential is stored.')
            }
            return (
              <ReplaceCredential
                account={account}
                provider={fromProvider(provider)}
                onReplaced={replaced}
                onBack={back}
              />
            )
          }}
        </Loaded>
      )}
    </Loaded>
  )
}

function NotThere({ to }: { to: string }) {
  return (
    <View
      title="Not available"
      lead="There is no such account or provider, or an administrator has turned the provider off."
      actions={
        <Link href={to} className={buttonLook('plain')}>
          Back
        </Link>
      }
    />
  )
}
