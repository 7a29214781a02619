/** Adds a preset or a custom provider. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AdminClient, CreateProviderBody, Preset, ProviderDetails } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Field } from '../../ui/field.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { useSay } from '../../ui/message.tsx'
import { Badge, Card, Section } from '../../ui/view.tsx'
import { isForm } from '../connections/connectable.ts'
import { titleOf } from '../connections/describe-method.ts'
import { Credentials } from './credentials.tsx'
import { OwnProvider } from './own-provider.tsx'

interface AddProviderProps {
  admin: AdminClient
  providers: ProviderDetails[]
}

export function AddProvider({ admin, providers }: AddProviderProps) {
  const queries = useQueryClient()
  const { say } = useSay()
  const [search, setSearch] = useState('')
  const presets = useQuery({ queryKey: ['admin', 'presets'], queryFn: () => admin.providers.presets() })
  const create = async (body: CreateProviderBody) => {
    const { provider_name: name } = await admin.providers.create(body)
    say(`${name} was added.`)
    await queries.invalidateQueries({ queryKey: ['admin', 'providers'] })
  }
  const matches = ({ provider_name: name, preset }: Preset) =>
    `${name} ${preset}`.toLowerCase().includes(search.trim().toLowerCase())
  return (
    <Section title="Add a provider">
      <Card>
        <div className="space-y-3">
          <Field
            label="Search providers"
            type="search"
            value={search}
            onChange={(event) => {
              setSearch(event.target.value)
            }}
          />
          <Loaded query={presets}>
            {(page) => (
              <ul className="max-h-80 space-y-1 overflow-y-auto" tabIndex={0} aria-label="Known providers">
                {page.presets.filter(matches).map((preset) => (
                  <li key={preset.preset}>
                    <details className="rounded-lg border border-line p-3">
                      <summary className="font-medium">
                        {preset.provider_name}{' '}
                        {providers.some(({ slug }) => slug === preset.preset) && <Badge>added</Badge>}
                      </summary>
                      <div className="mt-3 space-y-4">
                        <FromPreset preset={preset} create={create} />
                      </div>
                    </details>
                  </li>
                ))}
              </ul>
            )}
          </Loaded>
          <details className="rounded-lg border border-line p-3">
            <summary className="font-medium">Custom provider</summary>
            <div className="mt-3">
              <OwnProvider create={create} />
            </div>
          </details>
        </div>
      </Card>
    </Section>
  )
}

interface FromPresetProps {
  preset: Preset
  create: (body: CreateProviderBody) => Promise<void>
}

/** OAuth needs a client of the operator's. Keys and passwords are entered by each user. */
function FromPreset({ preset, create }: FromPresetProps) {
  const { preset: id, provider_name: name, auth_methods: methods, notes } = preset
  const forms = methods.filter(isForm).map((method) => titleOf(method, name))
  const usesOAuth = forms.length < methods.length
  return (
    <>
      {usesOAuth && (
        <>
          {notes && <p className="text-sm text-quiet">{notes}</p>}
          <Credentials
            redirectUri={preset.redirect_uri}
            verb={`Add ${name}`}
            act={(credentials) => create({ preset: id, ...credentials })}
          />
        </>
      )}
      {forms.length > 0 && (
        <div className="space-y-2">
          <p className="text-sm text-quiet">
            {usesOAuth ? 'Without an OAuth app, users connect by: ' : 'Nothing to register. Users connect by: '}
            {forms.join(', ')}.
          </p>
          <Action act={() => create({ preset: id })}>{usesOAuth ? `Add ${name} without OAuth` : `Add ${name}`}</Action>
        </div>
      )}
    </>
  )
}
