import type { Connection } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Choice, Choices } from '../../ui/field.tsx'
import { formatMoment } from '../../ui/time.tsx'
import type { Wish } from '../connections/begin.ts'
import { fromProvider, isForm } from '../connections/connectable.ts'
import type { Connectable } from '../connections/connectable.ts'
import { useProviders } from '../lists.ts'
import { labelOf } from './terms.ts'

interface AccountsProps {
  provider: string
  providerName: string
  accounts: Connection[]
  chosen: string | undefined
  problem: string | undefined
  onChoose: (connectionId: string) => void
  onConnect: (wish: Wish) => Promise<void>
  /** Asks for a credential: of a new account, or of this one. */
  onEnter: (entering: { provider: Connectable; account?: Connection }) => void
}

/** Chooses the account that the agent will use. A new one can be connected here. */
export function Accounts({
  provider,
  providerName,
  accounts,
  chosen,
  problem,
  onChoose,
  onConnect,
  onEnter,
}: AccountsProps) {
  const { data: providers } = useProviders()
  const about = providers?.find(({ slug }) => slug === provider)
  const active = accounts.filter(({ status }) => status === 'active')
  const stale = accounts.filter(({ status }) => status !== 'active')
  const connect = (way: Wish['way'], connectionId?: string) => () =>
    onConnect({
      way,
      provider: { provider_slug: provider },
      providerName,
      ...(connectionId !== undefined && { connectionId }),
    })
  const enter = (account?: Connection) => () => {
    if (about) onEnter({ provider: fromProvider(about), ...(account && { account }) })
  }
  const takesForm = about?.auth_methods.some(isForm) ?? false
  return (
    <Choices legend="Account" problem={problem}>
      {active.map((account) => (
        <Choice
          key={account.connection_id}
          type="radio"
          name="account"
          checked={account.connection_id === chosen}
          onChange={() => {
            onChoose(account.connection_id)
          }}
          label={<bdi className="font-medium">{labelOf(account)}</bdi>}
          note={`connected ${formatMoment(account.created_at)}`}
        />
      ))}
      {stale.map((account) => (
        <div key={account.connection_id} className="flex flex-wrap items-center justify-between gap-2 px-2 py-1">
          <span>
            <bdi className="font-medium">{labelOf(account)}</bdi>{' '}
            <span className="text-sm text-warn">The provider no longer accepts it.</span>
          </span>
          {account.auth_method === 'oauth2' ? (
            <Action act={connect('browser', account.connection_id)}>Connect again</Action>
          ) : (
            <Action act={enter(account)}>Replace its credential</Action>
          )}
        </div>
      ))}
      {accounts.length === 0 && (
        <p className="px-2 text-sm text-quiet">
          You haven’t connected an account yet. Connect one, then choose what the agent may do with it.
        </p>
      )}
      <div className="flex flex-wrap gap-2 px-2 pt-1">
        <Action look={active.length === 0 ? 'main' : 'plain'} act={takesForm ? enter() : connect('browser')}>
          {accounts.length > 0 ? 'Connect another account' : 'Connect an account'}
        </Action>
        {!takesForm && about?.device_flow && <Action act={connect('device')}>Use a code on another device</Action>}
      </div>
    </Choices>
  )
}
