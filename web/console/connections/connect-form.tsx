/** Connects an account at a provider: with a credential that the user enters, or by signing in there. */
import { useState } from 'react'
import { Action } from '../../ui/action.tsx'
import { Choice, Choices } from '../../ui/field.tsx'
import { Card, Theirs, View } from '../../ui/view.tsx'
import { service } from '../service.ts'
import type { Wish } from './begin.ts'
import { isForm } from './connectable.ts'
import type { Connectable, Method } from './connectable.ts'
import { CredentialForm } from './credential-form.tsx'
import { nounOf, titleOf } from './describe-method.ts'

interface ConnectFormProps {
  provider: Connectable
  /** To sign in at the provider. */
  onStart: (wish: Wish) => Promise<void>
  onConnected: (connectionId: string) => unknown
  onBack: () => void
}

export function ConnectForm({ provider, onStart, onConnected, onBack }: ConnectFormProps) {
  const { name, methods } = provider
  // Until the user chooses it is the first, also if the list turns out to be out of date.
  const [chosen, setChosen] = useState<string>()
  const method = methods.find((one) => one.name === chosen) ?? methods[0]
  const takesForm = method !== undefined && isForm(method)
  return (
    <View
      title={`Connect ${name}`}
      heading={
        <>
          Connect <Theirs>{name}</Theirs>
        </>
      }
      lead={
        takesForm
          ? `The ${nounOf(method)} is stored here, encrypted. Agents use it without seeing it, and only as far as you allow.`
          : 'You sign in with the provider and come back. Its tokens are stored here, encrypted; agents never see them.'
      }
      actions={<Action act={onBack}>Back</Action>}
    >
      <Card>
        <div className="max-w-xl space-y-6">
          {methods.length > 1 && (
            <Choices legend="How to connect">
              {methods.map((one) => (
                <Choice
                  key={one.name}
                  type="radio"
                  name="method"
                  label={titleOf(one, name)}
                  checked={one === method}
                  onChange={() => {
                    setChosen(one.name)
                  }}
                />
              ))}
            </Choices>
          )}
          {method &&
            (takesForm ? (
              <Enter key={method.name} provider={provider} method={method} onConnected={onConnected} />
            ) : (
              <SignInThere provider={provider} onStart={onStart} />
            ))}
        </div>
      </Card>
    </View>
  )
}

function Enter({
  provider,
  method,
  onConnected,
}: Pick<ConnectFormProps, 'provider' | 'onConnected'> & { method: Method }) {
  return (
    <CredentialForm
      provider={provider}
      method={method}
      verb="Connect"
      asksForName={method.checks !== 'account'}
      conflict={`This account is connected already. To give it another ${nounOf(method)}, go to Connections.`}
      send={async (credential, label) => {
        const body = { provider_slug: provider.slug, auth_method: method.name, credential, ...(label && { label }) }
        await onConnected((await service.connections.create(body)).connection_id)
      }}
    />
  )
}

function SignInThere({ provider, onStart }: Pick<ConnectFormProps, 'provider' | 'onStart'>) {
  const { name, slug, providerId, hasDeviceFlow } = provider
  const start = (way: 'browser' | 'device') => () =>
    onStart({
      way,
      provider: providerId === undefined ? { provider_slug: slug } : { provider_id: providerId },
      providerName: name,
    })
  return (
    <div className="flex flex-wrap gap-2">
      <Action look="main" act={start('browser')}>
        Continue to {name}
      </Action>
      {hasDeviceFlow && <Action act={start('device')}>Use a code on another device</Action>}
    </div>
  )
}
