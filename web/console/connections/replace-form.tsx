/** Replaces the credential of an account. Says what becomes of its grants. */
import type { Connection, Grant } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { formatMoment } from '../../ui/time.tsx'
import { Card, Notice, Theirs, View } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { describeGrant } from '../grants/describe-grant.ts'
import { useActiveGrants } from '../lists.ts'
import { service } from '../service.ts'
import type { Connectable, Method } from './connectable.ts'
import { CredentialForm } from './credential-form.tsx'
import { nounOf } from './describe-method.ts'

interface ReplaceProps {
  account: Connection
  provider: Connectable
  onReplaced: () => unknown
  onBack: () => void
}

export function ReplaceCredential(props: ReplaceProps) {
  const { account, provider } = props
  const grants = useActiveGrants()
  const method = provider.methods.find(({ name }) => name === account.auth_method)
  if (!method)
    return <View title="This credential can’t be replaced" lead="Disconnect the account, and connect it again." />
  return (
    <Loaded query={grants}>
      {(all) => (
        <ReplaceForm
          {...props}
          method={method}
          grants={all.filter(({ connection_id: id }) => id === account.connection_id)}
        />
      )}
    </Loaded>
  )
}

interface ReplaceFormProps extends ReplaceProps {
  method: Method
  /** That use this account. */
  grants: Grant[]
}

function ReplaceForm({ account, provider, method, grants, onReplaced, onBack }: ReplaceFormProps) {
  const { connection_id: id, account_label: label } = account
  const noun = nounOf(method)
  const endsGrants = method.checks !== 'account' && grants.length > 0
  return (
    <View
      title={`Replace the ${noun}`}
      lead={
        <>
          For {label === null ? 'your account' : <Theirs>{label}</Theirs>} at <Theirs>{provider.name}</Theirs>. The
          stored {noun} is never shown.
        </>
      }
      actions={<Action act={onBack}>Back</Action>}
    >
      <Card>
        <div className="max-w-xl">
          <CredentialForm
            provider={provider}
            method={method}
            verb={endsGrants ? `Replace ${noun} and end ${count(grants.length, 'grant')}` : `Replace ${noun}`}
            conflict="This belongs to another account, so nothing was changed. Connect that account as a new one instead."
            send={async (credential) => {
              await service.connections.replaceCredential(id, { credential })
              await onReplaced()
            }}
          >
            {endsGrants ? (
              <Notice>
                <p>
                  {provider.name} can’t tell whose {noun} this is. Replacing it permanently ends{' '}
                  {count(grants.length, 'grant')}:
                </p>
                <ul className="list-disc space-y-1 ps-5 pt-1">
                  {grants.map((grant) => (
                    <li key={grant.grant_id}>
                      <Sentence words={describeGrant(grant, formatMoment)} />
                    </li>
                  ))}
                </ul>
              </Notice>
            ) : (
              <p className="text-sm text-quiet">
                {method.checks === 'account'
                  ? 'Grants stay, because it has to belong to the same account.'
                  : 'No agent has access to this account now.'}
              </p>
            )}
          </CredentialForm>
        </div>
      </Card>
    </View>
  )
}
