/** A URL can contain any connection id, so the user's audit log is checked for whether it was just connected. */
import { useQuery } from '@tanstack/react-query'
import { service } from '../service.ts'

/** Redirecting back takes a moment, but clocks may differ by more. */
const newMs = 15 * 60_000

/** Whether the user has just connected or reconnected this account. Undefined while loading. */
export function useIsNewAccount(connectionId: string | null, isSignedIn = true): boolean | undefined {
  const isId = connectionId !== null && /^con_[0-9a-hjkmnp-tv-z]{26}$/.test(connectionId)
  const query = useQuery({
    queryKey: ['new-account', connectionId],
    queryFn: () => isOnRecord(connectionId ?? ''),
    enabled: isId && isSignedIn,
    staleTime: Infinity,
  })
  return isId && !query.isError ? query.data : false
}

async function isOnRecord(connectionId: string): Promise<boolean> {
  const since = new Date(Date.now() - newMs).toISOString()
  const pages = (['connection.created', 'connection.renewed'] as const).map((event) =>
    service.audit.list({ connection_id: connectionId, event, since, limit: 1 }).page(),
  )
  return (await Promise.all(pages)).some(({ records }) => records.length > 0)
}
