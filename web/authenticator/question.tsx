/** The request on a device. Shows what will be signed in words, and as the exact text, before it is signed. */
import { canonicalJson } from '@sallyport/protocol/canonical-json'
import { useState } from 'react'
import type { AccessRequest, Connection, DeviceClient, Signed } from '@sallyport/sdk'
import { Summary } from '../console/approve/summary.tsx'
import { TermsForm } from '../console/approve/terms-form.tsx'
import { accountIn, decisionOf, firstChoices, labelOf } from '../console/approve/terms.ts'
import { useGuard } from '../console/approve/use-guard.ts'
import { Wish } from '../console/approve/wish.tsx'
import { Action } from '../ui/action.tsx'
import { Choice, Choices } from '../ui/field.tsx'
import { useSay } from '../ui/message.tsx'
import { Ago, useNow } from '../ui/time.tsx'
import { Card, Notice, View } from '../ui/view.tsx'
import { ToList } from './address.tsx'
import type { Answer } from './decide.tsx'

interface QuestionProps {
  device: DeviceClient
  request: AccessRequest
  /** The user's active accounts at the provider. */
  accounts: Connection[]
  onAnswer: (answer: Answer) => void
}

export function Question({ device, request, accounts, onAnswer }: QuestionProps) {
  const { complain } = useSay()
  const [choices, setChoices] = useState(() => firstChoices(request, null))
  const guard = useGuard(request.access_request_id)
  const canApprove = accounts.length > 0
  // Signs exactly what is displayed, to the millisecond.
  const decided = decisionOf(request, choices, accounts, useNow())
  const chosen = accountIn(choices, accounts)
  const id = request.access_request_id

  const approve = async () => {
    const { decision, missing } = decided
    if (missing) {
      complain(missing.text)
      return
    }
    let signed: Signed | undefined
    const onSigned = (what: Signed) => {
      signed = what
    }
    const grant = await device.accessRequests.approve(id, decision, { onSigned })
    onAnswer({ grant, signed })
  }
  const deny = async () => {
    let signed: Signed | undefined
    const onSigned = (what: Signed) => {
      signed = what
    }
    await device.accessRequests.deny(id, {}, { onSigned })
    onAnswer({ signed })
  }
  const unlessGuarded = (act: () => Promise<void>) => (guard.isOnNow() ? undefined : act())

  return (
    <View
      title="An agent is requesting access"
      lead={
        <>
          The request expires <Ago at={request.expires_at} />.
        </>
      }
    >
      <ToList />
      <Wish request={request} />
      <h2 className="text-lg font-semibold">What you allow</h2>
      {canApprove ? (
        <Card>
          <div className="space-y-6">
            <Choices legend="Account">
              {accounts.map((account) => (
                <Choice
                  key={account.connection_id}
                  type="radio"
                  name="account"
                  checked={account === chosen}
                  label={<bdi className="font-medium">{labelOf(account)}</bdi>}
                  onChange={() => {
                    setChoices({ ...choices, account: account.connection_id })
                  }}
                />
              ))}
            </Choices>
            <TermsForm asked={request} choices={choices} ownHost={chosen?.api_host ?? null} onChange={setChoices} />
          </div>
        </Card>
      ) : (
        <Notice>You have no usable account with this provider. Connect one in the console, then approve here.</Notice>
      )}
      {canApprove && <Summary request={request} choices={choices} decided={decided} accounts={accounts} />}
      {decided.decision && (
        <details className="text-sm">
          <summary className="font-medium text-accent">What this device will sign</summary>
          <p className="mt-2 text-quiet">Your approval of this request, with exactly these terms:</p>
          <pre className="mt-2 overflow-x-auto rounded-lg bg-raised p-3 text-xs whitespace-pre-wrap" tabIndex={0}>
            {canonicalJson(decided.decision)}
          </pre>
        </details>
      )}
      <div className="flex flex-wrap gap-3">
        {canApprove && (
          <Action look="main" isHeld={guard.isOn} act={() => unlessGuarded(approve)}>
            Sign and approve
          </Action>
        )}
        <Action look="danger" isHeld={guard.isOn} act={() => unlessGuarded(deny)}>
          Sign and deny
        </Action>
      </div>
    </View>
  )
}
