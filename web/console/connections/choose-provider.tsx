import { useState } from 'react'
import type { Provider } from '@sallyport/sdk'
import { Link } from 'wouter'
import { Action, buttonLook } from '../../ui/action.tsx'
import { Field } from '../../ui/field.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Badge, Empty, Theirs, View } from '../../ui/view.tsx'
import { useProviders } from '../lists.ts'
import type { Wish } from './begin.ts'
import { inOrder, matches } from './search.ts'

type Start = (wish: Wish) => Promise<void>

/** All providers, searchable by name, URL or API host. */
export function ChooseProvider({ onStart }: { onStart: Start }) {
  const providers = useProviders()
  return (
    <View
      title="Connect an account"
      lead="You sign in with the provider and come back. Its tokens are stored here, encrypted; agents never see them."
      actions={
        <Link href="/connections" className={buttonLook('plain')}>
          Back
        </Link>
      }
    >
      <Loaded query={providers}>{(known) => <Search providers={known} onStart={onStart} />}</Loaded>
    </View>
  )
}

function Search({ providers, onStart }: { providers: Provider[]; onStart: Start }) {
  const [wanted, setWanted] = useState('')
  const found = inOrder(providers).filter((provider) => matches(provider, wanted))
  if (providers.length === 0) {
    return (
      <Empty title="No providers configured yet">
        <p>
          An administrator can add one on the{' '}
          <Link href="/admin" className="font-semibold text-accent underline">
            admin page
          </Link>
          . An agent can propose one too.
        </p>
      </Empty>
    )
  }
  return (
    <div className="space-y-4">
      <Field
        label="Search"
        type="search"
        autoComplete="off"
        spellCheck={false}
        value={wanted}
        onChange={(event) => {
          setWanted(event.target.value)
        }}
      />
      <p aria-live="polite" className="sr-only">
        {wanted !== '' && `${found.length} found`}
      </p>
      {found.length === 0 && <p className="text-quiet">No matches</p>}
      <ul className="divide-y divide-line rounded-xl border border-line bg-surface empty:hidden">
        {found.map((provider) => (
          <li key={provider.provider_id}>
            <Row provider={provider} onStart={onStart} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function Row({ provider, onStart }: { provider: Provider; onStart: Start }) {
  const { provider_id, provider_name: providerName, issuer_url: issuer, verified } = provider
  const start = (way: Wish['way']) => () => onStart({ way, provider: { provider_id }, providerName })
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-3">
      <div className="min-w-0 grow basis-56">
        <p className="flex flex-wrap items-center gap-2">
          <Theirs>{providerName}</Theirs>
          {!verified && <Badge tone="warn">unverified</Badge>}
        </p>
        <p className="text-sm text-quiet">
          <bdi>{URL.parse(issuer ?? '')?.host ?? issuer}</bdi>
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        {provider.device_flow && (
          <Action look="bare" act={start('device')} label={`Use a code to connect ${providerName}`}>
            Use a code
          </Action>
        )}
        <Action act={start('browser')} label={`Connect ${providerName}`}>
          Connect
        </Action>
      </div>
    </div>
  )
}
