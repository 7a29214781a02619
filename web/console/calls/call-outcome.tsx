/** What became of a call, with the call itself. Updated while it runs. */
import type { ReactNode } from 'react'
import type { PersonCall } from '@sallyport/sdk'
import { Moment } from '../../ui/time.tsx'
import { Notice, View } from '../../ui/view.tsx'
import { CallView } from './call-view.tsx'
import { isUnderWay, tellOutcome } from './describe-held-call.ts'

export function CallOutcome({ call, children }: { call: PersonCall; children: ReactNode }) {
  const { title, text, tone } = tellOutcome(call)
  return (
    <View title={title}>
      <div role="status" aria-busy={isUnderWay(call)} data-part="outcome">
        <Notice tone={tone}>
          <p className="text-base font-medium">{text}</p>
          {call.decided_at !== null && (
            <p className="mt-1">
              Decided <Moment at={call.decided_at} />
              {call.signed && ', signed by a device'}.
            </p>
          )}
        </Notice>
      </div>
      {children}
      <h2 className="text-lg font-semibold">The call</h2>
      <CallView call={call} />
    </View>
  )
}
