/** The user's grants. Ended ones are on separate tabs. */
import { useState } from 'react'
import { Link, useSearch } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Empty, Notice, Theirs, View } from '../../ui/view.tsx'
import { useActiveGrants, useConnections } from '../lists.ts'
import { EndedGrants } from './ended-grants.tsx'
import { GrantList } from './grant-list.tsx'

const states = { active: 'Active', expired: 'Expired', revoked: 'Revoked' } as const
type State = keyof typeof states

export function Grants() {
  const [state, setState] = useState<State>('active')
  return (
    <View
      title="Grants"
      isWide
      lead="What you have allowed agents to do. You can revoke any grant at any time."
      actions={
        <Link href="/connect-agent" className={buttonLook('plain')}>
          Connect an agent
        </Link>
      }
    >
      <Tabs label="Which grants" tabs={states} chosen={state} onChoose={setState} />
      {state === 'active' ? <ActiveGrants /> : <EndedGrants key={state} status={state} />}
    </View>
  )
}

function ActiveGrants() {
  const grants = useActiveGrants()
  const connectionId = new URLSearchParams(useSearch()).get('account')
  return (
    <Loaded query={grants} shape="cards">
      {(all) => {
        const shown = connectionId === null ? all : all.filter(({ connection_id: id }) => id === connectionId)
        return (
          <>
            {connectionId !== null && <OnlyOne connectionId={connectionId} />}
            {shown.length === 0 ? (
              <Empty title="No active grants">
                <p>When an agent requests access, you decide on the page it links to, or from Home.</p>
              </Empty>
            ) : (
              <GrantList grants={shown} />
            )}
          </>
        )
      }}
    </Loaded>
  )
}

function OnlyOne({ connectionId }: { connectionId: string }) {
  const { data: connections } = useConnections()
  const account = connections?.find(({ connection_id: id }) => id === connectionId)
  return (
    <Notice tone="calm">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span>
          Only grants that use{' '}
          {account ? <Theirs>{account.account_label ?? account.provider_name}</Theirs> : 'one account'}.
        </span>
        <Link href="/grants" className="font-semibold text-accent underline-offset-4 hover:underline">
          Show all
        </Link>
      </div>
    </Notice>
  )
}
