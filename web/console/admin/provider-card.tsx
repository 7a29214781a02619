import { useQueryClient } from '@tanstack/react-query'
import type { AdminClient, ProviderDetails } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { useSay } from '../../ui/message.tsx'
import { Badge, Card, Theirs, focusHeading } from '../../ui/view.tsx'
import { Credentials } from './credentials.tsx'
import { EditProvider } from './edit-provider.tsx'
import { ProviderEndpoints } from './provider-endpoints.tsx'
import { RedirectUrl } from './redirect-url.tsx'

const sources = { admin: 'added by an admin', preset: 'preset', proposal: 'proposed by an agent' }

export function ProviderCard({ admin, provider }: { admin: AdminClient; provider: ProviderDetails }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const { provider_id: id, provider_name: name, status } = provider
  const usesOAuth = provider.auth_methods.some(({ kind }) => kind === 'oauth2')
  const needsEndpoints = usesOAuth && provider.issuer_url === null
  const change = async (act: () => Promise<unknown>, text: string) => {
    await act()
    await queries.invalidateQueries({ queryKey: ['admin', 'providers'] })
    focusHeading()
    say(text)
  }
  return (
    <li>
      <Card>
        <div className="flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0 flex-1 basis-60 space-y-1">
            <p className="flex flex-wrap items-center gap-2">
              <Theirs>{name}</Theirs>
              {status === 'active' && <Badge tone="good">active</Badge>}
              {status === 'disabled' && <Badge tone="bad">disabled</Badge>}
              {status === 'pending_credentials' && (
                <Badge tone="warn">needs {needsEndpoints ? 'endpoints' : 'credentials'}</Badge>
              )}
              {!provider.verified && <Badge tone="warn">unverified</Badge>}
            </p>
            <p className="text-sm text-quiet">
              <code className="font-mono">{provider.slug}</code>, {sources[provider.source]}, allowed API hosts:{' '}
              <span className="wrap-anywhere">{provider.api_hosts.join(', ') || 'none'}</span>
            </p>
            {needsEndpoints && (
              <p className="text-sm text-warn">
                The agent’s proposal has no endpoints. Set them, or delete the proposal.
              </p>
            )}
            {provider.registration_error && !needsEndpoints && status === 'pending_credentials' && (
              <p className="text-sm text-warn">Automatic client registration failed: {provider.registration_error}</p>
            )}
          </div>
          <div className="flex flex-wrap gap-2">
            {status === 'disabled' ? (
              <Action label={`Enable ${name}`} act={() => change(() => admin.providers.enable(id), 'Enabled.')}>
                Enable
              </Action>
            ) : (
              <Confirm
                opener="Disable"
                openerLabel={`Disable ${name}`}
                title="Disable this provider?"
                verb="Disable"
                act={() => change(() => admin.providers.disable(id), 'Disabled. Calls to it are refused.')}
              >
                <p>No account can be connected and no call is sent to it until you enable it again.</p>
              </Confirm>
            )}
            <Confirm
              opener="Delete"
              openerLabel={`Delete ${name}`}
              title="Delete this provider?"
              verb="Delete"
              act={() => change(() => admin.providers.delete(id), 'Deleted.')}
            >
              <p>You can delete it only while no account is connected. This can’t be undone.</p>
            </Confirm>
          </div>
        </div>
        {!needsEndpoints && (
          <details className="mt-3">
            <summary className="text-sm font-medium text-accent">Edit name, hosts or scopes</summary>
            <div className="mt-3">
              <EditProvider
                // Resets the form when another admin changed the provider: outdated values must not be sent.
                key={JSON.stringify([name, provider.api_hosts, provider.scopes])}
                provider={provider}
                act={(changes) => change(() => admin.providers.update(id, changes), 'Changes saved.')}
              />
            </div>
          </details>
        )}
        {needsEndpoints ? (
          <details className="mt-3" open={status === 'pending_credentials'}>
            <summary className="text-sm font-medium text-accent">Set endpoints</summary>
            <div className="mt-3">
              <ProviderEndpoints
                act={(endpoints) => change(() => admin.providers.setEndpoints(id, endpoints), 'Endpoints saved.')}
              />
            </div>
          </details>
        ) : (
          usesOAuth && (
            <details className="mt-3" open={status === 'pending_credentials'}>
              <summary className="text-sm font-medium text-accent">
                {provider.client_id ? 'Change credentials' : 'Add credentials'}
              </summary>
              <div className="mt-3">
                <div className="space-y-4">
                  <p className="text-sm text-quiet">Register an OAuth app with the provider, with this redirect URL:</p>
                  <RedirectUrl url={provider.redirect_uri} />
                  <Credentials
                    providerName={name}
                    test={(credentials) => admin.providers.testClient({ provider_id: id, ...credentials })}
                    save={async (credentials) => {
                      await admin.providers.setCredentials(id, credentials)
                      await queries.invalidateQueries({ queryKey: ['admin', 'providers'] })
                      focusHeading()
                    }}
                  />
                </div>
              </div>
            </details>
          )
        )}
      </Card>
    </li>
  )
}
