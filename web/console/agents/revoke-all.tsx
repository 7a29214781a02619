import { useQueryClient } from '@tanstack/react-query'
import type { Grant } from '@sallyport/sdk'
import { Confirm } from '../../ui/confirm.tsx'
import { useSay } from '../../ui/message.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { formatMoment } from '../../ui/time.tsx'
import { Theirs, focusHeading } from '../../ui/view.tsx'
import { describeGrant } from '../grants/describe-grant.ts'
import { service } from '../service.ts'

export function RevokeAll({ name, grants }: { name: string; grants: Grant[] }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const revoke = async () => {
    try {
      for (const { grant_id: id } of grants) await service.grants.revoke(id)
    } finally {
      await queries.invalidateQueries({ queryKey: ['grants'] })
    }
    focusHeading()
    say('All its access is revoked. The agent’s calls are refused from now on.')
  }
  return (
    <Confirm
      opener="Revoke all"
      openerLabel={`Revoke all access of ${name}`}
      title={`Revoke all ${grants.length} grants?`}
      verb="Revoke all"
      act={revoke}
    >
      <ul className="max-h-60 list-disc space-y-1 overflow-y-auto pl-5 text-ink">
        {grants.map((grant) => (
          <li key={grant.grant_id}>
            <Sentence words={describeGrant(grant, formatMoment)} />
          </li>
        ))}
      </ul>
      <p>
        All of it stops now, including calls in progress. This can’t be undone: <Theirs>{name}</Theirs> would have to
        request access again.
      </p>
    </Confirm>
  )
}
