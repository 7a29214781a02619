/** The request on a device. Shows what will be signed in words, and as the exact text, before it is signed. */
import { canonicalJson } from '@sallyport/protocol/canonical-json'
import { useRef } from 'react'
import type { AccessRequest, Connection, DeviceClient, Signed } from '@sallyport/sdk'
import { DecisionBar } from '../console/approve/decision-bar.tsx'
import { Question, Risks } from '../console/approve/question.tsx'
import { TermsForm } from '../console/approve/terms-form.tsx'
import { labelOf, problemAt } from '../console/approve/terms.ts'
import { useChoices } from '../console/approve/use-choices.ts'
import { useGuard } from '../console/approve/use-guard.ts'
import { Action } from '../ui/action.tsx'
import { Choice, Choices } from '../ui/field.tsx'
import { Card, Notice, View } from '../ui/view.tsx'
import { ToList } from './address.tsx'
import type { Answer } from './decide.tsx'

interface DecideRequestProps {
  device: DeviceClient
  request: AccessRequest
  /** The user's active accounts at the provider. */
  accounts: Connection[]
  onAnswer: (answer: Answer) => void
}

export function DecideRequest({ device, request, accounts, onAnswer }: DecideRequestProps) {
  const form = useRef<HTMLFormElement>(null)
  const chosen = useChoices({ decider: 'device', request, accounts, preferred: null })
  const { choices, account, change, decided, faults } = chosen
  const guard = useGuard(request.access_request_id)
  const canApprove = accounts.length > 0
  const id = request.access_request_id

  const approve = async () => {
    // Signs exactly what is displayed, to the millisecond.
    const { decision } = decided
    if (!decision) {
      chosen.settle(form.current)
      return
    }
    let signed: Signed | undefined
    const onSigned = (what: Signed) => {
      signed = what
    }
    try {
      const grant = await device.accessRequests.approve(id, decision, { onSigned })
      chosen.forget()
      onAnswer({ grant, signed })
    } catch (problem) {
      if (!chosen.refuse(problem, form.current)) throw problem
    }
  }
  const deny = async () => {
    let signed: Signed | undefined
    const onSigned = (what: Signed) => {
      signed = what
    }
    await device.accessRequests.deny(id, {}, { onSigned })
    chosen.forget()
    onAnswer({ signed })
  }
  const unlessGuarded = (act: () => Promise<void>) => (guard.isOnNow() ? undefined : act())
  const problem = problemAt(faults, 'account')
  const accountPart = (
    <Choices legend="Account" problem={problem}>
      {accounts.map((one) => (
        <Choice
          key={one.connection_id}
          type="radio"
          name="account"
          checked={one === account}
          label={<bdi className="font-medium">{labelOf(one)}</bdi>}
          onChange={() => {
            change({ ...choices, account: one.connection_id })
          }}
        />
      ))}
    </Choices>
  )
  const isAccountPlain = accounts.length === 1 && problem === undefined

  return (
    <View title="An agent is requesting access" actions={<ToList />}>
      <form
        ref={form}
        noValidate
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault()
        }}
      >
        <Question
          request={request}
          account={account ? labelOf(account) : null}
          terms={chosen.terms}
          target={chosen.target}
        />
        {canApprove ? (
          <Card label="What you allow">
            <div className="space-y-4">
              {!isAccountPlain && accountPart}
              <TermsForm
                asked={request}
                choices={choices}
                ownHost={account?.api_host ?? null}
                faults={faults}
                onChange={change}
              >
                {isAccountPlain && accountPart}
                {decided.decision && (
                  <div className="min-w-0 text-sm sm:col-span-2">
                    <h2 className="font-semibold">What this device will sign</h2>
                    <p className="text-quiet">Your approval of this request, with exactly these terms:</p>
                    <pre
                      className="mt-2 overflow-x-auto rounded-lg bg-raised p-3 text-xs whitespace-pre-wrap"
                      tabIndex={0}
                    >
                      {canonicalJson(decided.decision)}
                    </pre>
                  </div>
                )}
              </TermsForm>
            </div>
          </Card>
        ) : (
          <Notice>You have no usable account with this provider. Connect one in the console, then approve here.</Notice>
        )}
        {canApprove && <Risks request={request} terms={chosen.terms} />}
        <DecisionBar>
          {canApprove && (
            <Action look="main" isHeld={guard.isOn} act={() => unlessGuarded(approve)}>
              Sign and approve
            </Action>
          )}
          <Action look="danger" isHeld={guard.isOn} act={() => unlessGuarded(deny)}>
            Sign and deny
          </Action>
        </DecisionBar>
      </form>
    </View>
  )
}
