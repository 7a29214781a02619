import type { CreateProviderBody } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { listOf, ProviderFields } from './provider-fields.tsx'

const fields = [
  { name: 'provider_name', label: 'Name' },
  { name: 'slug', label: 'Slug', note: 'Lower-case letters, digits and hyphens.' },
  { name: 'issuer_url', label: 'Issuer URL', note: 'https URL. The endpoints are read from its metadata.' },
  { name: 'scopes', label: 'Scopes', note: 'Separated by spaces.' },
  { name: 'api_hosts', label: 'Allowed API hosts', note: 'Hosts that tokens may be sent to, separated by spaces.' },
  { name: 'client_id', label: 'Client ID' },
  { name: 'client_secret', label: 'Client secret', type: 'password' },
] as const

type Name = (typeof fields)[number]['name']

const empty = Object.fromEntries(fields.map(({ name }) => [name, ''])) as Record<Name, string>
const lists: readonly Name[] = ['scopes', 'api_hosts']

export function OwnProvider({ create }: { create: (body: CreateProviderBody) => Promise<void> }) {
  return (
    <ProviderFields
      fields={fields}
      initial={empty}
      save={async (values, clear) => {
        await create(bodyOf(values))
        clear()
      }}
      button={(add) => (
        <Action look="main" submits act={add}>
          Add provider
        </Action>
      )}
    />
  )
}

function bodyOf(values: Record<Name, string>): CreateProviderBody {
  const given = fields.flatMap(({ name }) => {
    const text = values[name].trim()
    return text === '' ? [] : [[name, lists.includes(name) ? listOf(text) : text] as const]
  })
  return Object.fromEntries(given)
}
