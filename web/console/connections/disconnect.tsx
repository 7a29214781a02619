import { useQueryClient } from '@tanstack/react-query'
import type { Connection, Grant } from '@sallyport/sdk'
import { Confirm } from '../../ui/confirm.tsx'
import { useSay } from '../../ui/message.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { formatMoment } from '../../ui/time.tsx'
import { focusHeading, Theirs } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { describeGrant } from '../grants/describe-grant.ts'
import { service } from '../service.ts'

/** Shows which grants will end before disconnecting. */
export function Disconnect({ account, grants }: { account: Connection; grants: Grant[] }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const { connection_id: id, account_label: label, provider_name: provider } = account
  const disconnect = async () => {
    const { remote_revocation: atProvider } = await service.connections.revoke(id)
    await Promise.all(['connections', 'grants'].map((key) => queries.invalidateQueries({ queryKey: [key] })))
    focusHeading()
    say(`The account is disconnected. ${afterwards[atProvider ?? 'unsupported']}`)
  }
  return (
    <Confirm
      opener="Disconnect"
      openerLabel={`Disconnect ${label ?? 'this account'} at ${provider}`}
      title="Disconnect this account?"
      verb="Disconnect"
      act={disconnect}
    >
      <p className="text-ink">
        {label === null ? 'Your account' : <Theirs>{label}</Theirs>} at <Theirs>{provider}</Theirs>
      </p>
      {grants.length === 0 ? (
        <p>No agent can use it now. Its stored tokens are deleted.</p>
      ) : (
        <>
          <p>Its stored tokens are deleted. This permanently ends {count(grants.length, 'grant')} now:</p>
          <ul className="list-disc space-y-1 ps-5">
            {grants.map((grant) => (
              <li key={grant.grant_id}>
                <Sentence words={describeGrant(grant, formatMoment)} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Confirm>
  )
}

const afterwards: Record<NonNullable<Connection['remote_revocation']>, string> = {
  done: 'The provider has revoked its tokens too.',
  pending: 'The provider will be asked to revoke its tokens too.',
  failed: 'The provider did not revoke its tokens: remove the access in your account settings there.',
  unsupported: 'The provider doesn’t support revocation: remove the access in your account settings there.',
}
