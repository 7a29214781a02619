/** One account: its status, when it was used, and which agents may use it. */
import type { Connection, Grant } from '@sallyport/sdk'
import { Link } from 'wouter'
import { Action, buttonLook } from '../../ui/action.tsx'
import { Fact, Facts } from '../../ui/facts.tsx'
import { Ago, Moment } from '../../ui/time.tsx'
import { Badge, Card, Notice, Theirs } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import type { Method } from './connectable.ts'
import { nounOf } from './describe-method.ts'
import { Disconnect } from './disconnect.tsx'

interface AccountProps {
  account: Connection
  /** How it was connected. Undefined if its provider is not active. */
  method: Method | undefined
  /** Grants that use this account. */
  grants: Grant[]
  onSignIn: (account: Connection) => Promise<void>
  onCode: ((account: Connection) => Promise<void>) | undefined
}

export function Account({ account, method, grants, onSignIn, onCode }: AccountProps) {
  const { account_label: label, status, scopes, created_at: since, last_used_at: lastUsed } = account
  const name = label ?? 'this account'
  const isEntered = account.auth_method !== 'oauth2'
  const noun = nounOf(method)
  const isStale = status === 'needs_reauth'
  const needsSignIn = isStale && !isEntered
  return (
    <Card>
      <div className="space-y-4">
        <div className="flex flex-wrap items-start justify-between gap-2">
          <h3 className="min-w-0">{label === null ? 'Unnamed account' : <Theirs>{label}</Theirs>}</h3>
          <Badge tone={isStale ? 'warn' : 'good'}>
            {needsSignIn ? 'Sign-in needed' : isStale ? `New ${noun} needed` : 'Healthy'}
          </Badge>
        </div>
        {needsSignIn && (
          <Notice>
            The provider no longer accepts the stored token. Agents can’t use this account until you sign in again. Your
            grants are kept.
          </Notice>
        )}
        {isStale && isEntered && (
          <Notice>
            The provider no longer accepts the stored {noun}. Agents can’t use this account until you replace it.
          </Notice>
        )}
        <Facts>
          <Fact name="Connected">
            <Moment at={since} />
          </Fact>
          <Fact name="Last used">{lastUsed === null ? 'never' : <Ago at={lastUsed} />}</Fact>
          <Fact name="Used by">{grants.length === 0 ? 'no agents' : <Users account={account} grants={grants} />}</Fact>
          {scopes.length > 0 && (
            <Fact name="Scopes">
              <span className="text-quiet">{scopes.join(' ')}</span>
            </Fact>
          )}
        </Facts>
        <div className="flex flex-wrap gap-2">
          {needsSignIn && (
            <Action look="main" act={() => onSignIn(account)} label={`Sign in again: ${name}`}>
              Sign in again
            </Action>
          )}
          {needsSignIn && onCode && (
            <Action act={() => onCode(account)} label={`Use a code to sign in again: ${name}`}>
              Use a code
            </Action>
          )}
          {isEntered && (
            <Link
              href={`/connections/${account.connection_id}/credential`}
              className={buttonLook(isStale ? 'main' : 'plain')}
              aria-label={`Replace ${noun}: ${name}`}
            >
              Replace {noun}
            </Link>
          )}
          <Disconnect account={account} grants={grants} />
        </div>
      </div>
    </Card>
  )
}

const named = 3

function Users({ account, grants }: Pick<AccountProps, 'account' | 'grants'>) {
  return (
    <>
      <Link
        href={`/grants?account=${account.connection_id}`}
        className="font-semibold whitespace-nowrap text-accent underline underline-offset-4"
      >
        {count(grants.length, 'grant')}
      </Link>
      {': '}
      {grants.slice(0, named).map(({ grant_id: id, agent }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Theirs>{agent.name}</Theirs>
        </span>
      ))}
      {grants.length > named && ` and ${grants.length - named} more`}
    </>
  )
}
