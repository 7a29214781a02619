import { useQuery } from '@tanstack/react-query'
import { Ago } from '../../ui/time.tsx'
import { service } from '../service.ts'
import { describeHistory, historyOf } from './history.ts'

export function Before({ agentId }: { agentId: string }) {
  const { data: grants, isError } = useQuery({
    queryKey: ['grants', 'newest'],
    queryFn: async ({ signal }) => (await service.grants.list({ limit: 200 }, { signal }).page()).grants,
  })
  if (isError) return <p className="text-sm text-quiet">That can’t be told just now.</p>
  if (!grants) return <p className="text-sm text-quiet">…</p>
  const history = historyOf(grants, agentId)
  return (
    <p className="text-sm">
      {describeHistory(history)}{' '}
      {history.lastUsedAt !== null && (
        <>
          The last was <Ago at={history.lastUsedAt} />.
        </>
      )}
    </p>
  )
}
