/** Sets up a known provider, step by step: register an app there, test its credentials, and connect an account. */
import { useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { AdminClient, Preset, ProviderDetails } from '@sallyport/sdk'
import { Action, buttonLook } from '../../ui/action.tsx'
import { useSay } from '../../ui/message.tsx'
import { Step, Steps } from '../../ui/steps.tsx'
import { Section, View, focusHeading } from '../../ui/view.tsx'
import { isForm } from '../connections/connectable.ts'
import { titleOf } from '../connections/describe-method.ts'
import { Credentials } from './credentials.tsx'
import { RedirectUrl } from './redirect-url.tsx'

interface SetUpProviderProps {
  admin: AdminClient
  preset: Preset
  /** What there is of it already. */
  provider: ProviderDetails | undefined
}

export function SetUpProvider({ admin, preset, provider }: SetUpProviderProps) {
  const { provider_name: name, auth_methods: methods } = preset
  const forms = methods.filter(isForm).map((method) => titleOf(method, name))
  return (
    <View
      title={`Set up ${name}`}
      actions={
        <Link href="/admin" className={buttonLook('plain')}>
          All providers
        </Link>
      }
    >
      {forms.length < methods.length && <ByOAuth admin={admin} preset={preset} provider={provider} />}
      {forms.length > 0 && (
        <ByForms admin={admin} preset={preset} provider={provider} isOnly={forms.length === methods.length}>
          {forms.join(', ')}
        </ByForms>
      )}
    </View>
  )
}

function ByOAuth({ admin, preset, provider }: SetUpProviderProps) {
  const queries = useQueryClient()
  const { preset: id, provider_name: name, register_url: registerUrl, docs, notes } = preset
  const isDone = provider?.client_id != null && provider.status === 'active'
  const page = registerUrl ?? docs[0]
  return (
    <Steps>
      <Step number={1} title={`Register an OAuth app with ${name}`} isDone={isDone}>
        {notes && <p className="max-w-prose">{notes}</p>}
        {page !== undefined && (
          <a href={page} target="_blank" rel="noreferrer" className={buttonLook('plain')}>
            {registerUrl === null ? `Open ${name}’s instructions` : `Open ${name}`}
            <span className="sr-only"> in a new tab</span>
          </a>
        )}
      </Step>
      <Step number={2} title="Give it this redirect URL" isDone={isDone}>
        <p>{name} sends people back here after they agreed. Some call it callback URL.</p>
        <RedirectUrl url={preset.redirect_uri} />
      </Step>
      <Step number={3} title="Enter its credentials" isDone={isDone}>
        <p>
          {isDone
            ? 'They are saved. Enter others to replace them.'
            : `${name} shows both once the app is registered. They are tested before they are saved.`}
        </p>
        <Credentials
          providerName={name}
          test={(credentials) => {
            const which = provider ? { provider_id: provider.provider_id } : { preset: id }
            return admin.providers.testClient({ ...which, ...credentials })
          }}
          save={async (credentials) => {
            if (provider) await admin.providers.setCredentials(provider.provider_id, credentials)
            else await admin.providers.create({ preset: id, ...credentials })
            // The next page offers this provider, so it must not show the list from before.
            queries.removeQueries({ queryKey: ['providers'] })
            await queries.invalidateQueries({ queryKey: ['admin', 'providers'] })
            focusHeading()
          }}
        />
      </Step>
      <Step number={4} title="Connect your account">
        {isDone ? (
          <Link href={`/connections/new/${provider.slug}`} className={buttonLook('main')}>
            Connect your account
          </Link>
        ) : (
          <p>Then you and other users can connect accounts at {name}.</p>
        )}
      </Step>
    </Steps>
  )
}

interface ByFormsProps extends SetUpProviderProps {
  isOnly: boolean
  children: string
}

/** Keys and passwords are entered by each user, so there is nothing to register. */
function ByForms({ admin, preset, provider, isOnly, children }: ByFormsProps) {
  const queries = useQueryClient()
  const { say } = useSay()
  const { preset: id, provider_name: name } = preset
  const add = async () => {
    await admin.providers.create({ preset: id })
    await queries.invalidateQueries({ queryKey: ['admin', 'providers'] })
    say(`${name} was added.`)
  }
  return (
    <Section
      title={isOnly ? 'Nothing to register' : 'Without an app'}
      note={`Each user connects with their own: ${children}.`}
    >
      {provider ? (
        <Link href={`/connections/new/${id}`} className={buttonLook(isOnly ? 'main' : 'plain')}>
          Connect your account
        </Link>
      ) : (
        <Action look={isOnly ? 'main' : 'plain'} act={add}>
          {isOnly ? `Add ${name}` : `Add ${name} without OAuth`}
        </Action>
      )}
    </Section>
  )
}
