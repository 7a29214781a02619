/** A pending request, the choices, and the two buttons. */
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { AccessRequest, Connection, User } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { useSay } from '../../ui/message.tsx'
import { isProblem } from '../../ui/problem.ts'
import { Card, Notice, View } from '../../ui/view.tsx'
import { useAgentNames } from '../agents/my-name.tsx'
import { useConnecting } from '../connections/connecting.tsx'
import { service } from '../service.ts'
import { nameOf } from '../session.ts'
import { Accounts } from './accounts.tsx'
import type { Outcome } from './approve.tsx'
import { DecisionBar } from './decision-bar.tsx'
import { IfDenied } from './if-denied.tsx'
import type { Denial } from './if-denied.tsx'
import { Question, Risks } from './question.tsx'
import { TermsForm } from './terms-form.tsx'
import { labelOf, problemAt } from './terms.ts'
import { useChoices } from './use-choices.ts'
import { useGuard } from './use-guard.ts'

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
  const chosen = useChoices({ decider: user.user_id, request, accounts, preferred })
  const { choices, account, change, faults } = chosen
  const [denial, setDenial] = useState<Denial>({ reason: '', isBlocking: false })
  const connecting = useConnecting(`/approve-proxy/${request.access_request_id}`, (account) => {
    if (account !== undefined) change((now) => ({ ...now, account }))
  })
  const isOnDevice = user.require_device_approval
  const canApprove = !isOnDevice && accounts.some(({ status }) => status === 'active')
  const guard = useGuard(
    `${canApprove} ${connecting.view ? 'away' : 'here'} ${accounts.map((one) => one.connection_id + one.status).join()}`,
  )
  const { isAnswering, answer } = useAnswering(props)

  const approve = async (): Promise<Outcome | undefined> => {
    const decision = chosen.settle(form.current)
    if (!decision) return undefined
    try {
      const grant = await service.accessRequests.approve(request.access_request_id, decision)
      chosen.forget()
      return { grant }
    } catch (problem) {
      if (chosen.refuse(problem, form.current)) return undefined
      throw problem
    }
  }
  const deny = async (): Promise<Outcome> => {
    const reason = denial.reason.trim()
    const body = { block: denial.isBlocking, ...(reason !== '' && { reason }) }
    await service.accessRequests.deny(request.access_request_id, body)
    chosen.forget()
    return { isBlocked: denial.isBlocking }
  }
  const decide = (how: () => Promise<Outcome | undefined>) => (guard.isOnNow() ? undefined : answer(how))

  if (connecting.view) return connecting.view
  const accountPart = request.provider !== null && (
    <Accounts
      provider={request.provider}
      providerName={request.provider_name}
      accounts={accounts}
      chosen={account?.connection_id}
      problem={problemAt(faults, 'account')}
      onChoose={(account) => {
        change({ ...choices, account })
      }}
      onConnect={connecting.start}
      onEnter={connecting.enter}
    />
  )
  // One account that works needs no choice. It is named in the question.
  const isAccountPlain = accounts.length === 1 && canApprove && problemAt(faults, 'account') === undefined
  return (
    <View
      title={asking}
      lead={
        <>
          You’re signed in as <bdi className="font-medium text-ink">{nameOf(user)}</bdi>.{' '}
          <Called agentId={request.agent.agent_id} />
        </>
      }
    >
      <form
        ref={form}
        noValidate
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault()
        }}
      >
        <Question
          user={user}
          request={request}
          account={account ? labelOf(account) : null}
          terms={chosen.terms}
          target={chosen.target}
        />
        {isOnDevice ? (
          <Notice>You approve on your devices only: open this request there. You can still deny it here.</Notice>
        ) : (
          <Card label="What you allow">
            <div className="space-y-4">
              {!isAccountPlain && accountPart}
              {canApprove ? (
                <TermsForm
                  asked={request}
                  choices={choices}
                  ownHost={account?.api_host ?? null}
                  faults={faults}
                  onChange={change}
                >
                  {isAccountPlain && accountPart}
                  <IfDenied denial={denial} onChange={setDenial} />
                </TermsForm>
              ) : (
                <details>
                  <summary className="font-semibold text-accent">Before you deny</summary>
                  <div className="pt-3">
                    <IfDenied denial={denial} onChange={setDenial} />
                  </div>
                </details>
              )}
            </div>
          </Card>
        )}
        {canApprove && <Risks request={request} terms={chosen.terms} />}
        <DecisionBar>
          {canApprove && (
            <Action look="main" isHeld={guard.isOn || isAnswering} act={() => decide(approve)}>
              Approve
            </Action>
          )}
          <Action look="danger" isHeld={guard.isOn || isAnswering} act={() => decide(deny)}>
            Deny
          </Action>
        </DecisionBar>
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

function Called({ agentId }: { agentId: string }) {
  const name = useAgentNames().data?.get(agentId)
  return (
    name !== undefined && (
      <>
        You call this agent “<bdi className="font-medium text-ink">{name}</bdi>”.
      </>
    )
  )
}
