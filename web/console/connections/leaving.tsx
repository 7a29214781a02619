import { Action } from '../../ui/action.tsx'
import { Notice, View } from '../../ui/view.tsx'
import type { Begun } from './begin.ts'

interface LeavingProps {
  begun: Begun
  onTrust: () => void
  onBack: () => void
}

/** For unverified providers: asks the user before linking to them. */
export function Leaving({ begun, onTrust, onBack }: LeavingProps) {
  const { host } = new URL(begun.way === 'browser' ? begun.url : begun.flow.verification_uri)
  return (
    <View title="Do you trust this provider?">
      <Notice>{begun.warning}</Notice>
      <p>
        You’ll be sent to <bdi className="font-semibold wrap-anywhere">{host}</bdi> and asked to sign in there.
      </p>
      <div className="flex flex-wrap gap-2">
        <Action look="main" act={onBack}>
          Back
        </Action>
        <Action act={onTrust}>Continue</Action>
      </div>
    </View>
  )
}
