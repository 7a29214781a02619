/** First steps for new users. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Card } from '../../ui/view.tsx'
import { connectables } from '../connections/connectable.ts'
import { usePresets, useProviders } from '../lists.ts'

export function FirstSteps() {
  return (
    <ol className="space-y-4">
      <Step number={1} title="Connect an account">
        <p>Sign in with a provider once, or enter a key. It stays here; agents never see it.</p>
        <Connect />
      </Step>
      <Step number={2} title="Give an agent this address">
        <p>
          The agent registers itself and requests the access it needs, following the{' '}
          <a href="/docs" className="font-semibold text-accent underline">
            API reference
          </a>
          .
        </p>
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
    </ol>
  )
}

function Connect() {
  const providers = useProviders()
  const { data: presets = [] } = usePresets()
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
          <Link href="/connections/new" className={buttonLook('main')}>
            Connect an account
          </Link>
        )
      }
    </Loaded>
  )
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <li>
      <Card>
        <div className="flex gap-4">
          <span
            aria-hidden="true"
            className="grid size-8 shrink-0 place-items-center rounded-full bg-accent-soft text-sm font-semibold text-accent"
          >
            {number}
          </span>
          <div className="min-w-0 space-y-3 text-quiet">
            <h2 className="pt-1 font-semibold text-ink">{title}</h2>
            {children}
          </div>
        </div>
      </Card>
    </li>
  )
}
