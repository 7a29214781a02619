/** The client id and secret from the provider. */
import { useId, useState } from 'react'
import type { ProviderCredentialsBody } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Field, Form, inputLook } from '../../ui/field.tsx'
import { faultOf } from '../../ui/problem.ts'

interface CredentialsProps {
  /** The redirect URI to register at the provider. */
  redirectUri: string
  verb: string
  act: (credentials: ProviderCredentialsBody) => Promise<unknown>
}

export function Credentials({ redirectUri, verb, act }: CredentialsProps) {
  const id = useId()
  const [clientId, setClientId] = useState('')
  const [clientSecret, setClientSecret] = useState('')
  const [fault, setFault] = useState<{ field: string; text: string }>()
  const save = async () => {
    const isMissing = clientId.trim() === ''
    setFault(
      isMissing
        ? { field: 'client_id', text: 'Enter the client ID. The provider shows it where you registered the OAuth app.' }
        : undefined,
    )
    if (isMissing) return
    try {
      await act({ client_id: clientId.trim(), ...(clientSecret !== '' && { client_secret: clientSecret }) })
    } catch (problem) {
      const found = faultOf(problem, ['client_id', 'client_secret'])
      if (!found) throw problem
      setFault(found)
      return
    }
    setClientId('')
    setClientSecret('')
  }
  return (
    <Form>
      <div className="space-y-1">
        <label htmlFor={id} className="text-sm font-semibold">
          Redirect URL to register with the provider
        </label>
        <input id={id} readOnly className={`${inputLook} font-mono text-xs`} value={redirectUri} />
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label="Client ID"
          value={clientId}
          problem={fault?.field === 'client_id' ? fault.text : undefined}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setClientId(event.target.value)
          }}
        />
        <Field
          label="Client secret"
          type="password"
          value={clientSecret}
          problem={fault?.field === 'client_secret' ? fault.text : undefined}
          autoComplete="off"
          onChange={(event) => {
            setClientSecret(event.target.value)
          }}
        />
      </div>
      <Action submits act={save}>
        {verb}
      </Action>
    </Form>
  )
}
