/** Corrects what a provider is called, where its tokens may go and what new accounts are asked for. */
import { useState } from 'react'
import type { ProviderDetails, UpdateProviderBody } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Field, Form } from '../../ui/field.tsx'
import { faultOf } from '../../ui/problem.ts'

const members = [
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

type Member = (typeof members)[number]['name']
type Values = Record<Member, string>

interface EditProviderProps {
  provider: ProviderDetails
  act: (changes: UpdateProviderBody) => Promise<unknown>
}

export function EditProvider({ provider, act }: EditProviderProps) {
  const [values, setValues] = useState(() => valuesOf(provider))
  const [fault, setFault] = useState<{ field: Member; text: string }>()
  const save = async () => {
    setFault(undefined)
    try {
      await act({ ...bodyOf(values), if_updated_at: provider.updated_at })
    } catch (problem) {
      const found = faultOf(
        problem,
        members.map(({ name }) => name),
      )
      if (!found) throw problem
      setFault(found)
    }
  }
  return (
    <Form>
      {members.map(({ name, label, ...more }) => (
        <Field
          key={name}
          label={label}
          {...more}
          value={values[name]}
          problem={fault?.field === name ? fault.text : undefined}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setValues({ ...values, [name]: event.target.value })
          }}
        />
      ))}
      <Action submits label={`Save changes to ${provider.provider_name}`} act={save}>
        Save changes
      </Action>
    </Form>
  )
}

function valuesOf({ provider_name, api_hosts, scopes }: ProviderDetails): Values {
  return { provider_name, api_hosts: api_hosts.join(' '), scopes: scopes.join(' ') }
}

function bodyOf({ provider_name, api_hosts, scopes }: Values): UpdateProviderBody {
  return { provider_name: provider_name.trim(), api_hosts: listOf(api_hosts), scopes: listOf(scopes) }
}

function listOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((one) => one !== ''))]
}
