/** How to set up an agent for this service: a client is chosen, and each step has text to copy. */
import { Link, useLocation, useSearch } from 'wouter'
import { CopyBox } from '../../ui/copy-box.tsx'
import { Step, Steps } from '../../ui/steps.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { View } from '../../ui/view.tsx'
import { clients, isClient, stepsFor } from './set-up-steps.ts'
import type { Client } from './set-up-steps.ts'
import { TrySandbox } from './try-sandbox.tsx'

export function ConnectAgent() {
  const [, navigate] = useLocation()
  const named = new URLSearchParams(useSearch()).get('client')
  const client: Client = isClient(named) ? named : 'claude-code'
  return (
    <View
      title="Connect your agent"
      lead="Choose what your agent runs in. Nothing here is secret: the agent gets its own token, and no access until you approve its request."
    >
      <Tabs
        label="Client"
        tabs={clients}
        chosen={client}
        onChoose={(chosen) => {
          navigate(`/connect-agent?client=${chosen}`, { replace: true })
        }}
      />
      <Steps key={client}>
        {stepsFor(client, location.origin).map(({ title, lead, text }, index) => (
          <Step key={title} number={index + 1} title={title}>
            <p className="max-w-prose text-sm">{lead}</p>
            <CopyBox label={title} text={text} copies={`Copy step ${index + 1}`} />
          </Step>
        ))}
      </Steps>
      <p className="max-w-prose text-sm text-quiet">
        Then give it a task that needs one of your accounts. Its request appears on{' '}
        <Link href="/" className="font-semibold text-accent underline">
          Home
        </Link>
        , and you decide.
      </p>
      <TrySandbox />
    </View>
  )
}
