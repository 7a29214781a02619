import { useQueryClient } from '@tanstack/react-query'
import type { Grant } from '@sallyport/sdk'
import { Confirm } from '../../ui/confirm.tsx'
import { useSay } from '../../ui/message.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { formatMoment } from '../../ui/time.tsx'
import { focusHeading } from '../../ui/view.tsx'
import { service } from '../service.ts'
import { describeGrant } from './describe-grant.ts'

export function Revoke({ grant }: { grant: Grant }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const revoke = async () => {
    await service.grants.revoke(grant.grant_id)
    await queries.invalidateQueries({ queryKey: ['grants'] })
    focusHeading()
    say('Access revoked. The agent’s calls are refused from now on.')
  }
  return (
    <Confirm
      opener="Revoke"
      openerLabel={`Revoke the access of ${grant.agent.name}`}
      title="Revoke this access?"
      verb="Revoke"
      act={revoke}
    >
      <p className="text-ink">
        <Sentence words={describeGrant(grant, formatMoment)} />
      </p>
      <p>
        Access stops now, including calls in progress. This can’t be undone: the agent would have to request access
        again.
      </p>
    </Confirm>
  )
}
