import { useState } from 'react'
import type { Preset } from '@sallyport/sdk'
import { Link } from 'wouter'
import { Action, buttonLook } from '../../ui/action.tsx'
import { Field } from '../../ui/field.tsx'
import { Lettermark } from '../../ui/lettermark.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Badge, Empty, Theirs, View } from '../../ui/view.tsx'
import { usePresets, useProviders } from '../lists.ts'
import type { Wish } from './begin.ts'
import { connectables, fromPreset, isForm, matches } from './connectable.ts'
import type { Connectable } from './connectable.ts'

type Start = (wish: Wish) => Promise<void>

/** All that can be connected, searchable by name, URL or API host. */
export function ChooseProvider({ onStart }: { onStart: Start }) {
  const providers = useProviders()
  const presets = usePresets()
  return (
    <View
      title="Connect an account"
      lead="Sign in with the provider, or enter a key of yours. What is stored here is encrypted; agents never see it."
      actions={
        <Link href="/connections" className={buttonLook('plain')}>
          Back
        </Link>
      }
    >
      <Loaded query={providers} shape="rows">
        {(known) => (
          <Loaded query={presets} shape="rows">
            {(catalogue) => (
              <Search
                all={connectables(known, catalogue)}
                others={catalogue.filter(({ preset: id }) => !known.some(({ slug }) => slug === id))}
                onStart={onStart}
              />
            )}
          </Loaded>
        )}
      </Loaded>
    </View>
  )
}

interface SearchProps {
  all: Connectable[]
  /** Presets without a provider. */
  others: Preset[]
  onStart: Start
}

function Search({ all, others, onStart }: SearchProps) {
  const [wanted, setWanted] = useState('')
  const found = all.filter((one) => matches(one, wanted))
  const waiting = others.filter((one) => !one.connectable && matches(fromPreset(one), wanted))
  return (
    <div className="space-y-4">
      <Field
        label="Search"
        type="search"
        placeholder="Name or API host"
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
      <ul className="grid gap-2 empty:hidden lg:grid-cols-2">
        {found.map((one) => (
          <li key={one.slug} className="rounded-xl border border-line bg-surface">
            <Row provider={one} onStart={onStart} />
          </li>
        ))}
      </ul>
      {found.length === 0 && <NothingFound wanted={wanted} waiting={waiting} />}
      {found.length > 0 && wanted !== '' && waiting.length > 0 && (
        <p className="text-sm text-quiet">Not set up yet: {namesOf(waiting)}. An administrator can add them.</p>
      )}
    </div>
  )
}

function NothingFound({ wanted, waiting }: { wanted: string; waiting: Preset[] }) {
  const admin = (
    <Link href="/admin" className="font-semibold text-accent underline">
      admin page
    </Link>
  )
  if (waiting.length > 0 && wanted !== '') {
    return (
      <Empty title={`${namesOf(waiting)} ${waiting.length === 1 ? 'is' : 'are'} not set up yet`}>
        <p>An administrator can change that on the {admin}.</p>
      </Empty>
    )
  }
  return (
    <Empty title={wanted === '' ? 'No providers configured yet' : 'No matches'}>
      <p>
        {wanted === ''
          ? 'An administrator can add one on the '
          : 'Try another name. An administrator can add any provider on the '}
        {admin}. An agent can propose one too.
      </p>
    </Empty>
  )
}

const names = new Intl.ListFormat('en', { type: 'conjunction' })

function namesOf(presets: readonly Preset[]): string {
  const few = presets.slice(0, 3).map(({ provider_name: name }) => name)
  return names.format(presets.length > 3 ? [...few, `${presets.length - 3} more`] : few)
}

function Row({ provider, onStart }: { provider: Connectable; onStart: Start }) {
  const { slug, name, issuer, hosts, isVerified, methods, providerId, hasDeviceFlow } = provider
  const takesForm = methods.some(isForm)
  const start = (way: Wish['way']) => () =>
    onStart({ way, provider: { provider_id: providerId ?? '' }, providerName: name })
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 py-3">
      <Lettermark name={name} />
      <div className="min-w-0 grow basis-32">
        <p className="flex flex-wrap items-center gap-2">
          <Theirs>{name}</Theirs>
          {!isVerified && <Badge tone="warn">unverified</Badge>}
        </p>
        <p className="text-sm text-quiet">
          <bdi>{takesForm ? hosts[0] : (URL.parse(issuer ?? '')?.host ?? issuer)}</bdi>
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        {!takesForm && hasDeviceFlow && (
          <Action look="bare" act={start('device')} label={`Use a code to connect ${name}`}>
            Use a code
          </Action>
        )}
        {takesForm ? (
          <Link href={`/connections/new/${slug}`} className={buttonLook('plain')} aria-label={`Connect ${name}`}>
            Connect
          </Link>
        ) : (
          <Action act={start('browser')} label={`Connect ${name}`}>
            Connect
          </Action>
        )}
      </div>
    </div>
  )
}
