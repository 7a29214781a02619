/** The choices of a request, what they amount to, and what is wrong with them, once the user has tried to approve. */
import { useState } from 'react'
import type { AccessRequest, ApproveBody, Connection } from '@sallyport/sdk'
import { isProblem } from '../../ui/problem.ts'
import { useNow } from '../../ui/time.tsx'
import { termsOf } from './describe-terms.ts'
import { forgetChoices, useKeptChoices } from './kept-choices.ts'
import { focusField } from './terms-form.tsx'
import { accountIn, decisionOf, faultAt, firstChoices } from './terms.ts'
import type { Choices, Fault } from './terms.ts'

interface ChoicesOf {
  /** Who decides, as choices are kept for one user. */
  decider: string
  request: AccessRequest
  accounts: Connection[]
  preferred: string | null
}

export function useChoices({ decider, request, accounts, preferred }: ChoicesOf) {
  const key = `${decider} ${request.access_request_id}`
  const [choices, setChoices] = useKeptChoices(key, request, firstChoices(request, preferred))
  const [hasTried, setHasTried] = useState(false)
  const [refused, setRefused] = useState<Fault[]>([])
  const now = useNow()
  const account = accountIn(choices, accounts)
  const scopes = accounts.find(({ connection_id: id }) => id === account?.connection_id)?.scopes ?? null
  const decided = decisionOf(request, choices, accounts, now)
  return {
    choices,
    account,
    decided,
    terms: termsOf(request, choices, account, now),
    target: { abilities: request.abilities, scopes },
    faults: [...(hasTried ? decided.faults : []), ...refused],
    change: (next: Choices | ((before: Choices) => Choices)) => {
      setRefused([])
      setChoices(next)
    },
    forget: () => {
      forgetChoices(key)
    },
    /** The decision, or undefined: then its faults stand at their fields. */
    settle: (form: HTMLElement | null): ApproveBody | undefined => {
      const { decision, faults } = decisionOf(request, choices, accounts, Date.now())
      if (decision) return decision
      setHasTried(true)
      focusSoon(form, faults[0])
      return undefined
    },
    /** Whether the service's error is about a field of the form, where it then stands. */
    refuse: (problem: unknown, form: HTMLElement | null): boolean => {
      if (!isProblem(problem, 'invalid_field', 'missing_field')) return false
      const fault = faultAt(problem.field, problem.message, choices)
      if (!fault) return false
      setRefused([fault])
      focusSoon(form, fault)
      return true
    },
  }
}

/** Once it is shown, as the form may have been hidden. */
function focusSoon(form: HTMLElement | null, fault: Fault | undefined): void {
  if (fault)
    setTimeout(() => {
      focusField(form, fault)
    })
}
