/** Known providers, each with a page of its own, and a form for others. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { AdminClient, CreateProviderBody, Preset, ProviderDetails } from '@sallyport/sdk'
import { Field } from '../../ui/field.tsx'
import { Lettermark } from '../../ui/lettermark.tsx'
import { useSay } from '../../ui/message.tsx'
import { describeProblem } from '../../ui/problem.ts'
import { Badge, Card, Empty, Section } from '../../ui/view.tsx'
import { OwnProvider } from './own-provider.tsx'

interface AddProviderProps {
  admin: AdminClient
  presets: Preset[]
  providers: ProviderDetails[]
}

export function AddProvider({ admin, presets, providers }: AddProviderProps) {
  const queries = useQueryClient()
  const { say } = useSay()
  const [search, setSearch] = useState('')
  const create = async (body: CreateProviderBody) => {
    const added = await admin.providers.create(body)
    say(`${added.provider_name} was added${await testedClient(admin, added)}.`)
    await queries.invalidateQueries({ queryKey: ['admin', 'providers'] })
  }
  const wanted = search.trim().toLowerCase()
  const found = presets.filter(({ provider_name: name, preset, api_hosts: hosts }) =>
    `${name} ${preset} ${hosts.join(' ')}`.toLowerCase().includes(wanted),
  )
  return (
    <Section title="Add a provider">
      <Field
        label="Search providers"
        type="search"
        placeholder="Name or API host"
        autoComplete="off"
        value={search}
        onChange={(event) => {
          setSearch(event.target.value)
        }}
      />
      <p aria-live="polite" className="sr-only">
        {wanted !== '' && `${found.length} found`}
      </p>
      <Card>
        <details>
          <summary className="font-medium">Custom provider</summary>
          <div className="mt-3">
            <OwnProvider create={create} />
          </div>
        </details>
      </Card>
      {found.length === 0 ? (
        <Empty title="No matches">Try another name, or add it as a custom provider.</Empty>
      ) : (
        <ul aria-label="Known providers" className="grid grid-cols-2 gap-2 sm:grid-cols-3 2xl:grid-cols-5">
          {found.map((preset) => (
            <li key={preset.preset}>
              <Known preset={preset} isAdded={providers.some(({ slug }) => slug === preset.preset)} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

/** What the provider says of its client. Only after it was added: the service asks no address that is not stored. */
async function testedClient(admin: AdminClient, { provider_id, client_id }: ProviderDetails): Promise<string> {
  if (client_id === null) return ''
  try {
    const { result } = await admin.providers.testClient({ provider_id })
    if (result === 'refused') return ', but it doesn’t know this client ID with this secret: change the credentials'
    return result === 'accepted' ? ', and it accepted the credentials' : ''
  } catch (problem) {
    return `, but its credentials could not be tested: ${describeProblem(problem)}`.replace(/\.$/, '')
  }
}

function Known({ preset: { preset, provider_name: name }, isAdded }: { preset: Preset; isAdded: boolean }) {
  return (
    <Link
      href={`/admin/providers/${preset}`}
      className="flex items-center gap-3 rounded-xl border border-line bg-surface px-3 py-2 font-medium hover:bg-raised"
    >
      <Lettermark name={name} />
      <span className="min-w-0 grow">{name}</span>
      {isAdded && <Badge>added</Badge>}
    </Link>
  )
}
