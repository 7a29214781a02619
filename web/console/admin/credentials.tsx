/** The client id and secret from the provider, which is asked whether it knows them before they are saved. */
import { useState } from 'react'
import type { ProviderCredentialsBody, TestClientReply } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Field, Form } from '../../ui/field.tsx'
import { useSay } from '../../ui/message.tsx'
import { describeProblem, faultOf, isProblem } from '../../ui/problem.ts'
import { Notice } from '../../ui/view.tsx'

interface CredentialsProps {
  providerName: string
  /** Whether the provider knows them. */
  test: (credentials: ProviderCredentialsBody) => Promise<TestClientReply>
  save: (credentials: ProviderCredentialsBody) => Promise<unknown>
}

export function Credentials({ providerName, test, save }: CredentialsProps) {
  const { say } = useSay()
  const [clientId, setClientId] = useState('')
  const [clientSecret, setClientSecret] = useState('')
  const [fault, setFault] = useState<{ field: string; text: string }>()
  /** Why they could not be tested. They can be saved all the same. */
  const [untested, setUntested] = useState<string>()

  const store = async () => {
    await save(credentials())
    setClientId('')
    setClientSecret('')
    setUntested(undefined)
  }
  const credentials = () => ({
    client_id: clientId.trim(),
    ...(clientSecret.trim() !== '' && { client_secret: clientSecret.trim() }),
  })
  const testAndSave = async () => {
    const isMissing = clientId.trim() === ''
    setUntested(undefined)
    setFault(
      isMissing
        ? { field: 'client_id', text: 'Enter the client ID. The provider shows it where you registered the OAuth app.' }
        : undefined,
    )
    if (isMissing) return
    try {
      const { result, error } = await test(credentials())
      if (result === 'refused') {
        const text = `${providerName} doesn’t know this client ID with this secret (${error ?? 'refused'}). Check both.`
        setFault({ field: 'client_id', text })
        return
      }
      await store()
      say(
        result === 'accepted'
          ? `${providerName} accepted the credentials. They are saved.`
          : `Saved. ${providerName} doesn’t tell whether they are right: connect an account to find out.`,
      )
    } catch (problem) {
      const found = faultOf(problem, ['client_id', 'client_secret'])
      if (found) setFault(found)
      else if (isProblem(problem, 'provider_unavailable', 'timeout')) setUntested(describeProblem(problem))
      else throw problem
    }
  }
  return (
    <Form>
      <div className="grid gap-4 text-ink sm:grid-cols-2">
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
      {untested !== undefined && (
        <Notice>
          <p className="mb-2">The credentials could not be tested: {untested}</p>
          <Action act={store}>Save without a test</Action>
        </Notice>
      )}
      <Action look="main" submits act={testAndSave}>
        Test and save
      </Action>
    </Form>
  )
}
