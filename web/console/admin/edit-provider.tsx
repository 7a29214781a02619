/** Edits a provider's name, API hosts and scopes. */
import type { ProviderDetails, UpdateProviderBody } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { listOf, ProviderFields } from './provider-fields.tsx'

const fields = [
  { name: 'provider_name', label: 'Name' },
  {
    name: 'api_hosts',
    label: 'Allowed API hosts',
    note: 'Hosts that tokens may be sent to, separated by spaces. Existing grants don’t cover hosts you add: users approve them in a new request. Calls to a host you remove are refused immediately.',
  },
  {
    name: 'scopes',
    label: 'Scopes',
    note: 'Separated by spaces. Connected accounts keep their scopes until the user signs in again.',
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
