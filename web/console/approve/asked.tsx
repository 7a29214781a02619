import type { AccessRequest } from '@sallyport/sdk'
import { Sentence } from '../../ui/sentence.tsx'
import { Card } from '../../ui/view.tsx'
import { limits, question, termsOf } from './describe-terms.ts'
import { firstChoices } from './terms.ts'

/** What a request was about, once there is nothing to decide any more. */
export function Asked({ request }: { request: AccessRequest }) {
  const terms = termsOf(request, firstChoices(request, null), undefined, 0)
  return (
    <Card label="The request">
      <p className="text-lg leading-snug">
        <Sentence words={question(request, null, terms, { abilities: request.abilities }, true)} />
      </p>
      <p className="mt-1 text-sm text-quiet">
        <Sentence words={limits(terms)} />
      </p>
    </Card>
  )
}
