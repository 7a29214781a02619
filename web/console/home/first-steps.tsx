/** First steps for new users. */
import { Link } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Step, Steps } from '../../ui/steps.tsx'
import { connectables } from '../connections/connectable.ts'
import { usePresets, useProviders } from '../lists.ts'
import { useIsOperator } from '../use-is-operator.ts'

interface FirstStepsProps {
  isConnected: boolean
  /** Whether an agent has requested access. */
  hasAsked: boolean
}

/** A checklist. It disappears once access has been granted, which is its last step. */
export function FirstSteps({ isConnected, hasAsked }: FirstStepsProps) {
  return (
    <Steps>
      <Step number={1} title="Connect an account" isDone={isConnected}>
        <p>Sign in with a provider once, or enter a key. It stays here; agents never see it.</p>
        <Connect />
      </Step>
      <Step number={2} title="Give an agent this address" isDone={hasAsked}>
        <p>
          Agents reach your accounts through it. There are steps for Claude, Cursor, Codex, any MCP app, the command
          line and the SDK.
        </p>
        <Link href="/connect-agent" className={buttonLook('plain')}>
          Connect your agent
        </Link>
        <p className="flex flex-wrap items-center gap-3">
          <code className="rounded-lg bg-raised px-3 py-2 text-ink">{location.origin}</code>
          <CopyButton text={location.origin} label="Copy the address" />
        </p>
      </Step>
      <Step number={3} title="Decide when it asks">
        <p>
          Its requests appear on this page. You see who is asking and why, allow as little as you like, and can revoke
          it at any time.
        </p>
      </Step>
    </Steps>
  )
}

function Connect() {
  const providers = useProviders()
  const { data: presets = [] } = usePresets()
  const isOperator = useIsOperator()
  return (
    <Loaded query={providers}>
      {(known) =>
        connectables(known, presets).length === 0 ? (
          <p>
            No providers are configured yet. An administrator can add one on the{' '}
            <Link href="/admin" className="font-semibold text-accent underline">
              admin page
            </Link>
            .
          </p>
        ) : (
          <div className="flex flex-wrap gap-2">
            <Link href="/connections/new" className={buttonLook('main')}>
              Connect an account
            </Link>
            {isOperator && (
              <Link href="/admin" className={buttonLook('plain')}>
                Set up sign-in with GitHub, Google and others
              </Link>
            )}
          </div>
        )
      }
    </Loaded>
  )
}
