/** Sets the endpoints of a proposal that has none. */
import type { ProviderEndpointsBody } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { ProviderFields } from './provider-fields.tsx'

const fields = [
  {
    name: 'issuer_url',
    label: 'Issuer URL',
    note: 'https URL. The endpoints are read from its metadata. Or enter both endpoints below.',
  },
  { name: 'authorization_url', label: 'Authorization URL' },
  { name: 'token_url', label: 'Token URL' },
] as const

type Name = (typeof fields)[number]['name']

const empty: Record<Name, string> = { issuer_url: '', authorization_url: '', token_url: '' }

interface ProviderEndpointsProps {
  act: (endpoints: ProviderEndpointsBody) => Promise<unknown>
}

export function ProviderEndpoints({ act }: ProviderEndpointsProps) {
  return (
    <ProviderFields
      fields={fields}
      initial={empty}
      save={async (values) => {
        const given = fields.map(({ name }) => [name, values[name].trim()] as const).filter(([, text]) => text !== '')
        await act(Object.fromEntries(given))
      }}
      button={(save) => (
        <Action submits act={save}>
          Save endpoints
        </Action>
      )}
    />
  )
}
