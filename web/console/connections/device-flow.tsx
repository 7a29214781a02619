/** Shows a code to enter at the provider, on any device, and waits for the result. */
import { lazy, Suspense } from 'react'
import { Action, buttonLook } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { describeProblem } from '../../ui/problem.ts'
import { Ago } from '../../ui/time.tsx'
import { Card, Notice, Theirs, View } from '../../ui/view.tsx'
import type { Begun, Wish } from './begin.ts'
import { useDeviceFlow } from './use-device-flow.ts'
import type { FlowState } from './use-device-flow.ts'

const QrCode = lazy(async () => ({ default: (await import('../../ui/qr-code.tsx')).QrCode }))

/** A longer URL makes a QR code that cameras can't read, or exceeds its capacity. */
const longestInCode = 500

interface DeviceFlowProps {
  begun: Extract<Begun, { way: 'device' }>
  onConnected: () => void
  onAgain: (wish: Wish) => Promise<void>
  onBack: () => void
}

export function DeviceFlow({ begun, onConnected, onAgain, onBack }: DeviceFlowProps) {
  const { flow, wish } = begun
  const state = useDeviceFlow(flow, onConnected)
  if (state.status !== 'waiting') {
    return (
      <View title="Not connected">
        <Notice tone="bad">{reasonOf(state)}</Notice>
        <div className="flex flex-wrap gap-2">
          <Action look="main" act={() => onAgain(wish)}>
            Get a new code
          </Action>
          <Action act={onBack}>Back</Action>
        </div>
      </View>
    )
  }
  return (
    <View
      title="Enter this code"
      lead={
        <>
          Open <Theirs>{wish.providerName}</Theirs> on any device, sign in, and enter the code.
        </>
      }
      actions={<Action act={onBack}>Back</Action>}
    >
      <Card>
        <Instructions flow={flow} />
      </Card>
      <Progress until={flow.expires_at} />
    </View>
  )
}

function Instructions({ flow }: Pick<DeviceFlowProps['begun'], 'flow'>) {
  const { user_code: code, verification_uri: page, verification_uri_complete: complete } = flow
  const target = complete ?? page
  return (
    <div className="grid items-center gap-6 sm:grid-cols-[minmax(0,1fr)_auto]">
      <div className="space-y-4">
        <p>
          <span className="block text-sm text-quiet">Code</span>
          <bdi translate="no" className="block font-mono text-3xl font-semibold tracking-widest sm:text-4xl">
            {code}
          </bdi>
        </p>
        <div className="flex flex-wrap gap-2">
          <a href={target} target="_blank" rel="noopener noreferrer" className={buttonLook('main')}>
            Open {new URL(page).host}
          </a>
          <CopyButton text={code} label="Copy the code" />
        </div>
        <p className="text-sm text-quiet">
          Or go to: <bdi className="text-ink">{page}</bdi>
        </p>
      </div>
      {target.length <= longestInCode && (
        <div className="mx-auto w-44 sm:mx-0">
          <Suspense>
            <QrCode text={target} label="QR code for the same address" />
          </Suspense>
        </div>
      )}
    </div>
  )
}

function Progress({ until }: { until: string }) {
  return (
    <div className="space-y-2">
      <div
        role="progressbar"
        aria-label="Waiting for the code to be entered"
        className="h-1 overflow-hidden rounded-full bg-line"
      >
        <div className="h-full w-1/3 animate-wander rounded-full bg-accent" />
      </div>
      <p className="text-sm text-quiet">
        Waiting for you to enter it. This page continues automatically. Code expires <Ago at={until} />.
      </p>
    </div>
  )
}

function reasonOf(state: Exclude<FlowState, { status: 'waiting' }>): string {
  if (state.status === 'failed') return describeProblem(state.problem)
  return state.status === 'denied'
    ? 'Access was denied at the provider. Nothing was changed.'
    : 'The code has expired. Nothing was changed.'
}
