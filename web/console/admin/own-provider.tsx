import { useState } from 'react'
import type { CreateProviderBody } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Field, Form } from '../../ui/field.tsx'
import { faultOf } from '../../ui/problem.ts'

const members = [
  { name: 'provider_name', label: 'Name' },
  { name: 'slug', label: 'Short name, for addresses', note: 'Lower-case letters, digits and hyphens.' },
  { name: 'issuer_url', label: 'Issuer', note: 'Its https address; the rest is read from its metadata.' },
  { name: 'scopes', label: 'Scopes', note: 'Separated by spaces.' },
  { name: 'api_hosts', label: 'Hosts of its API', note: 'Where tokens may go, separated by spaces.' },
  { name: 'client_id', label: 'Client id' },
  { name: 'client_secret', label: 'Client secret', type: 'password' },
] as const

type Member = (typeof members)[number]['name']

const lists: readonly Member[] = ['scopes', 'api_hosts']

export function OwnProvider({ create }: { create: (body: CreateProviderBody) => Promise<void> }) {
  const [values, setValues] = useState<Partial<Record<Member, string>>>({})
  const [fault, setFault] = useState<{ field: Member; text: string }>()
  const add = async () => {
    setFault(undefined)
    try {
      await create(bodyOf(values))
      setValues({})
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
          value={values[name] ?? ''}
          problem={fault?.field === name ? fault.text : undefined}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setValues({ ...values, [name]: event.target.value })
          }}
        />
      ))}
      <Action look="main" submits act={add}>
        Add it
      </Action>
    </Form>
  )
}

function bodyOf(values: Partial<Record<Member, string>>): CreateProviderBody {
  const given = members.flatMap(({ name }) => {
    const text = values[name]?.trim() ?? ''
    return text === '' ? [] : [[name, lists.includes(name) ? text.split(/[\s,]+/) : text] as const]
  })
  return Object.fromEntries(given)
}
