/** A one-sentence summary of the grant, and its risks. */
import type { AccessRequest } from '@sallyport/sdk'
import { Sentence } from '../../ui/sentence.tsx'
import { formatMoment } from '../../ui/time.tsx'
import { Notice } from '../../ui/view.tsx'
import { plainText } from '../../ui/words.ts'
import { risksOf, sentence, termsOf } from './describe-terms.ts'
import { accountIn, labelOf } from './terms.ts'
import type { Account, Choices, Decided } from './terms.ts'

interface SummaryProps {
  request: AccessRequest
  choices: Choices
  decided: Decided
  accounts: readonly Account[]
}

export function Summary({ request, choices, decided, accounts }: SummaryProps) {
  const account = accountIn(choices, accounts)
  const terms = decided.decision && termsOf(request, decided.decision, choices, formatMoment)
  const risks = terms ? risksOf(request, terms) : []
  return (
    <section aria-label="What you would grant" aria-live="polite" className="space-y-3">
      {risks.length > 0 && (
        <Notice>
          <p className="font-semibold">Check before you approve</p>
          <ul className="mt-1 list-disc space-y-1 pl-5">
            {risks.map((risk) => (
              <li key={plainText(risk)}>
                <Sentence words={risk} />
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <p className="rounded-xl border-2 border-accent bg-surface px-4 py-3 text-lg" data-part="summary">
        {terms && account ? (
          <Sentence words={sentence(request.agent.name, labelOf(account), terms)} />
        ) : (
          decided.missing?.text
        )}
      </p>
    </section>
  )
}
