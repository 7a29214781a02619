/** Corrects what a provider is called, where its tokens may go and what new accounts are asked for. */
import type { ProviderDetails, UpdateProviderBody } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { listOf, ProviderFields } from './provider-fields.tsx'

const fields = [
  { name: 'provider_name', label: 'Name' },
  {
    name: 'api_hosts',
    label: 'API hosts',
    note: 'Where tokens may go, separated by spaces. Existing grants do not reach a host that you add: people approve it in a new request. A host that you remove is refused with the next call.',
  },
  {
    name: 'scopes',
    label: 'Scopes',
    note: 'Separated by spaces. Accounts that are connected already keep theirs until they sign in again with others.',
  },
] as const

interface EditProviderProps {
  provider: ProviderDetails
  act: (changes: UpdateProviderBody) => Promise<unknown>
}

export function EditProvider({ provider, act }: EditProviderProps) {
  const { provider_name, api_hosts, scopes, updated_at } = provider
  return (
    <ProviderFields
      fields={fields}
      initial={{ provider_name, api_hosts: api_hosts.join(' '), scopes: scopes.join(' ') }}
      save={async (values) => {
        await act({
          provider_name: values.provider_name.trim(),
          api_hosts: listOf(values.api_hosts),
          scopes: listOf(values.scopes),
          if_updated_at: updated_at,
        })
      }}
      button={(save) => (
        <Action submits label={`Save changes to ${provider_name}`} act={save}>
          Save changes
        </Action>
      )}
    />
  )
}
