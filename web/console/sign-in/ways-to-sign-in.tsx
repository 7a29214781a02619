import { useQuery } from '@tanstack/react-query'
import { useLocation, useSearch } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Loading } from '../../ui/loading.tsx'
import { Card, View } from '../../ui/view.tsx'
import { service } from '../service.ts'
import { useHasEnded } from '../session.ts'
import { isConnectWaiting, waitingRequest } from './address.ts'
import { linkOver, useArrival } from './arrival.ts'
import { TokenForm } from './token-form.tsx'

/** The enabled sign-in providers. Without any, there is still the login link. */
function useLoginProviders() {
  return useQuery({
    queryKey: ['login-providers'],
    queryFn: async () => {
      const { providers } = await service.auth.providers().catch(() => ({ providers: [] }))
      return providers.filter(({ enabled }) => enabled)
    },
  })
}

const command = 'sallyport login-link --email you@example.com'

export function WaysToSignIn() {
  const { data: providers } = useLoginProviders()
  const { isLinkOver, requestId } = useArrival()
  const hasEnded = useHasEnded()
  const search = useSearch()
  if (!providers) return <Loading />
  const waiting =
    (isConnectWaiting(search) && 'After you sign in, your account will be connected.') ||
    (waitingRequest(search) && 'After you sign in, you’ll see the agent’s request.')
  const byLink = providers.length > 0 ? 'Or use a one-time link:' : 'Sign in with a one-time link.'
  return (
    <View title={isLinkOver ? linkOver : hasEnded ? 'Your session has ended' : 'Sign in'} lead={waiting || undefined}>
      {isLinkOver && <p>It has been used or has expired. Each link works once.</p>}
      {providers.length > 0 && <ProviderLinks providers={providers} />}
      <Card>
        <div className="space-y-4">
          <p>{isLinkOver && providers.length === 0 ? 'To get a new one:' : byLink}</p>
          <TokenForm />
          <div className="space-y-3 border-t border-line pt-4 text-sm text-quiet">
            <p>
              <strong className="text-ink">If you run the service:</strong> restart it. Each time it starts on your
              machine, it prints a new link in the terminal that signs you in as the owner. Or make a link with the
              command line:
            </p>
            <div className="flex flex-wrap items-center gap-3">
              <code className="min-w-0 rounded-lg bg-raised px-3 py-2 text-ink wrap-anywhere">{command}</code>
              <CopyButton text={command} label="Copy the command" />
            </div>
            <p>
              <strong className="text-ink">If someone else runs it:</strong> ask them. An administrator makes links on
              the{' '}
              <a href="/admin" className="text-accent underline">
                admin page
              </a>
              .
            </p>
          </div>
        </div>
      </Card>
      {isLinkOver && requestId && <p className="text-sm text-quiet">Request {requestId}</p>}
    </View>
  )
}

interface LoginProvider {
  id: string
  name: string
  login_url: string | null
}

function ProviderLinks({ providers }: { providers: LoginProvider[] }) {
  const [path] = useLocation()
  const search = useSearch()
  const then = isConnectWaiting(search) ? '/?connect=waiting' : (waitingRequest(search) ?? path)
  return (
    <div className="flex flex-wrap gap-2">
      {providers.map(({ id, name, login_url: url }) => (
        <a
          key={id}
          className={buttonLook('plain')}
          href={then === '/' ? (url ?? '') : `${url}?${new URLSearchParams({ redirect_after: then })}`}
        >
          <span>
            Continue with <bdi>{name}</bdi>
          </span>
        </a>
      ))}
    </div>
  )
}
