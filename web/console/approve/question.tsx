/** The question in one sentence, which follows the choices, and the agent's own words. The rest is under “Details”. */
import { useId } from 'react'
import type { AccessRequest, User } from '@sallyport/sdk'
import { Quotation } from '../../ui/quotation.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Badge, Card, Notice } from '../../ui/view.tsx'
import { plainText } from '../../ui/words.ts'
import type { Target } from './abilities.ts'
import { Details } from './details.tsx'
import { limits, question, risksOf, unverifiedProvider } from './describe-terms.ts'
import type { Terms } from './describe-terms.ts'

interface QuestionProps {
  user?: User
  request: AccessRequest
  account: string | null
  terms: Terms
  target: Target
}

export function Question({ user, request, account, terms, target }: QuestionProps) {
  return (
    <Card label="The request">
      <div className="space-y-2">
        <div aria-live="polite" className="space-y-1">
          <p className="text-lg leading-snug" data-part="question">
            <Sentence words={question(request, account, terms, target)} />
          </p>
          <p className="text-sm text-quiet">
            <Sentence words={limits(terms)} />
          </p>
        </div>
        <Why reason={request.reason} />
        {request.provider === null ? (
          <Notice>This provider has been deleted. You can only deny the request.</Notice>
        ) : (
          !request.verified && <Notice>{unverifiedProvider}</Notice>
        )}
        <details className="group">
          <summary className="flex min-h-6 flex-wrap items-center gap-x-2 text-sm">
            <Badge tone="warn">Unverified</Badge> <span className="text-quiet">{standing(request)}</span>{' '}
            <span className="font-medium text-accent group-open:hidden">Details</span>
          </summary>
          <div className="pt-3">
            <Details {...(user && { user })} request={request} />
          </div>
        </details>
      </div>
    </Card>
  )
}

/** Whether the user knows this agent. Its name says nothing: it chose that itself. */
function standing({ history }: AccessRequest): string {
  if (!history) return 'The agent chose its name.'
  if (history.grants === 0) return 'New agent.'
  return history.active_grants > 0 ? 'It has access already.' : 'It has had access before.'
}

function Why({ reason }: { reason: string | null }) {
  const id = useId()
  if (!reason) return <p className="text-sm text-quiet">No reason given.</p>
  return (
    <div className="space-y-1">
      <p id={id} className="text-sm text-quiet">
        In the agent’s own words, not verified:
      </p>
      <Quotation labelledBy={id}>{reason}</Quotation>
    </div>
  )
}

/** What to know before approving. */
export function Risks({ request, terms }: { request: AccessRequest; terms: Terms }) {
  // An unverified provider is named with the question.
  const risks = risksOf({ verified: true }, terms)
  if (risks.length === 0 || request.provider === null) return null
  return (
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
  )
}
