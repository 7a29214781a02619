/** Says that the service can't be reached, and how old what is shown is. Goes away by itself. */
import { Action } from './action.tsx'
import { isReachable, useAwaySince } from './reachability.ts'
import { formatTime } from './time.tsx'

export function AwayBanner() {
  // Before the first answer there is nothing that could be out of date.
  const since = useAwaySince() || undefined
  return (
    <div role="status" className="sticky top-18 z-10 empty:hidden lg:top-4">
      {since !== undefined && (
        <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 rounded-lg border border-warn/40 bg-warn-soft px-4 py-2.5 text-sm text-warn shadow-md">
          <p className="min-w-0 flex-1 basis-64">
            <strong>{navigator.onLine ? 'The service can’t be reached.' : 'You’re offline.'}</strong> This page is as of{' '}
            {formatTime(since)} and may be out of date. It updates by itself once you’re connected.
          </p>
          <Action act={isReachable}>Try now</Action>
        </div>
      )}
    </div>
  )
}
