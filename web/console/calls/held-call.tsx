/** A call that waits, and the buttons that decide it. They stay in reach while the request scrolls. */
import { useRef, useState } from 'react'
import type { ReactNode } from 'react'
import type { PersonCall } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Quoting } from '../../ui/code-box.tsx'
import { Choice, Choices, Lines } from '../../ui/field.tsx'
import { Card, Notice, View } from '../../ui/view.tsx'
import { useGuard } from '../approve/use-guard.ts'
import { CallView } from './call-view.tsx'
import { Countdown } from './countdown.tsx'

export type RepeatSeconds = 900 | 3600

interface HeldCallProps {
  call: PersonCall
  lead?: ReactNode
  /** Undefined if it can be approved here; otherwise why not. */
  whyNot?: string | undefined
  verbs: { approve: string; deny: string }
  onApprove: (repeatSeconds: RepeatSeconds | undefined) => Promise<void>
  onDeny: (reason: string | undefined) => Promise<void>
  /** After the request: such as what will be signed for this choice. */
  children?: (repeatSeconds: RepeatSeconds | undefined) => ReactNode
}

export const askingToCall = 'An agent wants to make a call'

export function HeldCall({ call, lead, whyNot, verbs, onApprove, onDeny, children }: HeldCallProps) {
  const [repeat, setRepeat] = useState<RepeatSeconds>()
  const [reason, setReason] = useState('')
  const { isHeld, decide } = useDeciding(`${call.call_id} ${call.digest} ${whyNot}`)
  return (
    <View title={askingToCall} lead={lead}>
      {whyNot !== undefined && <Notice>{whyNot}</Notice>}
      <CallView call={call} />
      {call.repeat && whyNot === undefined && (
        <Repeating scope={call.repeat.scope} chosen={repeat} onChange={setRepeat} />
      )}
      {children?.(repeat)}
      <details className="rounded-xl border border-line bg-surface px-4 py-3">
        <summary className="text-sm font-semibold">If you deny: give a reason</summary>
        <div className="pt-3">
          <Lines
            label="Reason"
            note="Optional. Shown to the agent."
            name="reason"
            maxLength={1000}
            value={reason}
            onChange={setReason}
          />
        </div>
      </details>
      <div className="sticky bottom-0 z-10 -mx-4 border-t short:static border-line bg-ground px-4 pt-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] sm:bottom-4 sm:mx-0 sm:rounded-xl sm:border sm:pb-3 sm:shadow-md">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          {whyNot === undefined && (
            <Action look="main" isHeld={isHeld} act={() => decide(() => onApprove(repeat))}>
              {verbs.approve}
            </Action>
          )}
          <Action look="danger" isHeld={isHeld} act={() => decide(() => onDeny(reason.trim() || undefined))}>
            {verbs.deny}
          </Action>
          <p className="ms-auto text-sm text-quiet">
            <Countdown to={call.expires_at} />
          </p>
        </div>
      </div>
    </View>
  )
}

/** One decision at a time, and none in the first moments. */
function useDeciding(shown: string) {
  const guard = useGuard(shown)
  const isBusy = useRef(false)
  const [isDeciding, setIsDeciding] = useState(false)
  const decide = async (act: () => Promise<void>): Promise<void> => {
    if (guard.isOnNow() || isBusy.current) return
    isBusy.current = true
    setIsDeciding(true)
    try {
      await act()
    } finally {
      isBusy.current = false
      setIsDeciding(false)
    }
  }
  return { isHeld: guard.isOn || isDeciding, decide }
}

const repeats: [RepeatSeconds | undefined, string][] = [
  [undefined, 'Only this call'],
  [900, 'Also allow this again for 15 minutes'],
  [3600, 'Also allow this again for 1 hour'],
]

interface RepeatingProps {
  scope: string
  chosen: RepeatSeconds | undefined
  onChange: (repeat: RepeatSeconds | undefined) => void
}

function Repeating({ scope, chosen, onChange }: RepeatingProps) {
  return (
    <Card>
      <Choices legend="If you approve">
        {repeats.map(([seconds, label]) => (
          <Choice
            key={label}
            type="radio"
            name="repeat"
            checked={chosen === seconds}
            onChange={() => {
              onChange(seconds)
            }}
            label={label}
          />
        ))}
        {chosen !== undefined && (
          <p className="px-2 text-sm text-quiet">
            Runs without asking, at most 50 times:{' '}
            <bdi className="font-medium wrap-anywhere text-ink">
              <Quoting sentence={scope} />
            </bdi>
          </p>
        )}
      </Choices>
    </Card>
  )
}
