/** A pending request, the choices, and the two buttons. */
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { AccessRequest, Connection, User } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { useSay } from '../../ui/message.tsx'
import { isProblem } from '../../ui/problem.ts'
import { Ago, useNow } from '../../ui/time.tsx'
import { Card, Notice, View } from '../../ui/view.tsx'
import { useConnecting } from '../connections/connecting.tsx'
import { service } from '../service.ts'
import { nameOf } from '../session.ts'
import { Accounts } from './accounts.tsx'
import type { Outcome } from './approve.tsx'
import { IfDenied } from './if-denied.tsx'
import type { Denial } from './if-denied.tsx'
import { Summary } from './summary.tsx'
import { focusField, TermsForm } from './terms-form.tsx'
import { accountIn, decisionOf, firstChoices } from './terms.ts'
import { useGuard } from './use-guard.ts'
import { Wish } from './wish.tsx'

interface PendingProps {
  user: User
  request: AccessRequest
  accounts: Connection[]
  preferred: string | null
  onAnswering: (request: AccessRequest | undefined) => void
  onOutcome: (outcome: Outcome) => void
}

export const asking = 'An agent is requesting access'

export function Pending(props: PendingProps) {
  const { user, request, accounts, preferred } = props
  const form = useRef<HTMLFormElement>(null)
  const [choices, setChoices] = useState(() => firstChoices(request, preferred))
  const [denial, setDenial] = useState<Denial>({ reason: '', isBlocking: false })
  const connecting = useConnecting(`/approve-proxy/${request.access_request_id}`, (account) => {
    if (account !== undefined) setChoices((now) => ({ ...now, account }))
  })
  const decided = decisionOf(request, choices, accounts, useNow())
  const account = accountIn(choices, accounts)
  const { complain } = useSay()
  const isOnDevice = user.require_device_approval
  const canApprove = !isOnDevice && accounts.some(({ status }) => status === 'active')
  const guard = useGuard(
    `${canApprove} ${connecting.view ? 'away' : 'here'} ${accounts.map((one) => one.connection_id + one.status).join()}`,
  )
  const { isAnswering, answer } = useAnswering(props)

  const approve = async (): Promise<Outcome | undefined> => {
    const { decision, missing } = decisionOf(request, choices, accounts, Date.now())
    if (missing) {
      complain(missing.text)
      focusField(form.current, missing.name)
      return undefined
    }
    return { grant: await service.accessRequests.approve(request.access_request_id, decision) }
  }
  const deny = async (): Promise<Outcome> => {
    const reason = denial.reason.trim()
    const body = { block: denial.isBlocking, ...(reason !== '' && { reason }) }
    await service.accessRequests.deny(request.access_request_id, body)
    return { isBlocked: denial.isBlocking }
  }
  const decide = (how: () => Promise<Outcome | undefined>) => (guard.isOnNow() ? undefined : answer(how))

  if (connecting.view) return connecting.view
  return (
    <View
      title={asking}
      lead={
        <>
          You’re signed in as <bdi className="font-medium text-ink">{nameOf(user)}</bdi>. The request expires{' '}
          <Ago at={request.expires_at} />.
        </>
      }
    >
      <Wish user={user} request={request} />
      <form
        ref={form}
        className="space-y-6"
        onSubmit={(event) => {
          event.preventDefault()
        }}
      >
        <h2 className="text-lg font-semibold">What you allow</h2>
        {isOnDevice ? (
          <Notice>You approve on your devices only: open this request there. You can still deny it here.</Notice>
        ) : (
          <Card>
            <div className="space-y-6">
              {request.provider !== null && (
                <Accounts
                  provider={request.provider}
                  providerName={request.provider_name}
                  accounts={accounts}
                  chosen={account?.connection_id}
                  onChoose={(account) => {
                    setChoices({ ...choices, account })
                  }}
                  onConnect={connecting.start}
                  onEnter={connecting.enter}
                />
              )}
              {canApprove && (
                <TermsForm
                  asked={request}
                  choices={choices}
                  ownHost={account?.api_host ?? null}
                  onChange={setChoices}
                />
              )}
            </div>
          </Card>
        )}
        {canApprove && <Summary request={request} choices={choices} decided={decided} accounts={accounts} />}
        <div className="flex flex-wrap gap-3">
          {canApprove && (
            <Action look="main" isHeld={guard.isOn || isAnswering} act={() => decide(approve)}>
              Approve
            </Action>
          )}
          <Action look="danger" isHeld={guard.isOn || isAnswering} act={() => decide(deny)}>
            Deny
          </Action>
        </div>
        <IfDenied denial={denial} onChange={setDenial} />
      </form>
    </View>
  )
}

/** Refusals because the displayed data is outdated: it is refetched, and this is shown. */
const explanations: Record<string, string> = {
  request_not_pending: 'This request has already been decided or has expired.',
  device_signature_required: 'You approve on your devices only: approve it there.',
  connection_needs_reauth: 'The provider no longer accepts this account. Connect it again.',
}

/** Sends one decision at a time. */
function useAnswering({ request, onAnswering, onOutcome }: PendingProps) {
  const isBusy = useRef(false)
  const [isAnswering, setIsAnswering] = useState(false)
  const queries = useQueryClient()
  const { complain } = useSay()
  const become = (isSo: boolean) => {
    isBusy.current = isSo
    setIsAnswering(isSo)
    onAnswering(isSo ? request : undefined)
  }
  const answer = async (how: () => Promise<Outcome | undefined>): Promise<void> => {
    if (isBusy.current) return
    become(true)
    try {
      const outcome = await how()
      if (outcome) onOutcome(outcome)
    } catch (problem) {
      const explanation = isProblem(problem, ...refusals) && explanations[problem.code]
      if (!explanation) throw problem
      await queries.invalidateQueries()
      complain(problem.requestId ? `${explanation} (${problem.requestId})` : explanation)
    } finally {
      become(false)
    }
  }
  return { isAnswering, answer }
}

const refusals = ['request_not_pending', 'device_signature_required', 'connection_needs_reauth'] as const
