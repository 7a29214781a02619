/** A client's id and secret, as the provider handed them out. */
import { useId, useState } from 'react'
import type { ProviderCredentialsBody } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Field, inputLook } from '../../ui/field.tsx'

interface CredentialsProps {
  /** What the client has to be registered with. */
  redirectUri: string
  verb: string
  act: (credentials: ProviderCredentialsBody) => Promise<unknown>
}

export function Credentials({ redirectUri, verb, act }: CredentialsProps) {
  const id = useId()
  const [clientId, setClientId] = useState('')
  const [clientSecret, setClientSecret] = useState('')
  const [problem, setProblem] = useState<string>()
  const save = async () => {
    setProblem(clientId.trim() === '' ? 'The provider shows it where you registered the client.' : undefined)
    if (clientId.trim() === '') return
    await act({ client_id: clientId.trim(), ...(clientSecret !== '' && { client_secret: clientSecret }) })
    setClientId('')
    setClientSecret('')
  }
  return (
    <div className="space-y-4">
      <div className="space-y-1">
        <label htmlFor={id} className="text-sm font-semibold">
          Register the client there with this redirect address
        </label>
        <input id={id} readOnly className={`${inputLook} font-mono text-xs`} value={redirectUri} />
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label="Client id"
          value={clientId}
          problem={problem}
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
          autoComplete="off"
          onChange={(event) => {
            setClientSecret(event.target.value)
          }}
        />
      </div>
      <Action act={save}>{verb}</Action>
    </div>
  )
}
