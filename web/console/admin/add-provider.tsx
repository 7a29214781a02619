/** Adds a preset or a custom provider. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AdminClient, CreateProviderBody, Preset } from '@sallyport/sdk'
import { Field } from '../../ui/field.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { useSay } from '../../ui/message.tsx'
import { Card, Section } from '../../ui/view.tsx'
import { Credentials } from './credentials.tsx'
import { OwnProvider } from './own-provider.tsx'

export function AddProvider({ admin }: { admin: AdminClient }) {
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
                      <summary className="font-medium">{preset.provider_name}</summary>
                      <div className="mt-3 space-y-3">
                        {preset.notes && <p className="text-sm text-quiet">{preset.notes}</p>}
                        <Credentials
                          redirectUri={preset.redirect_uri}
                          verb={`Add ${preset.provider_name}`}
                          act={(credentials) => create({ preset: preset.preset, ...credentials })}
                        />
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
