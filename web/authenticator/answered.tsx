/** The result of a decision, and what this device signed. */
import type { ReactNode } from 'react'
import type { AccessRequest, Signed } from '@sallyport/sdk'
import { Asked } from '../console/approve/asked.tsx'
import { describeGrant } from '../console/grants/describe-grant.ts'
import { Fact, Facts } from '../ui/facts.tsx'
import { Sentence } from '../ui/sentence.tsx'
import { formatMoment } from '../ui/time.tsx'
import { Card, Section, Theirs, View } from '../ui/view.tsx'
import { ToList } from './address.tsx'
import type { Answer } from './decide.tsx'

export function Answered({ request, answer: { grant, signed } }: { request: AccessRequest; answer: Answer }) {
  return (
    <View title={grant ? 'Access granted' : 'Denied'}>
      {grant ? (
        <Card>
          <p>
            <Sentence words={describeGrant(grant, formatMoment)} />
          </p>
        </Card>
      ) : (
        <>
          <p>
            <Theirs>{request.agent.name}</Theirs> was not granted access. It is muted for a day.
          </p>
          <Asked request={request} />
        </>
      )}
      {signed && (
        <WhatWasSigned signed={signed}>
          {grant && (
            <Fact name="Grant">
              <code className="font-mono text-xs break-all">{grant.grant_id}</code>
            </Fact>
          )}
        </WhatWasSigned>
      )}
      <ToList />
    </View>
  )
}

/** `children`: further facts. */
export function WhatWasSigned({ signed, children }: { signed: Signed; children?: ReactNode }) {
  return (
    <Section title="What this device signed" note="The service stores it. Anyone can verify it without the service.">
      <Card>
        <Facts>
          <Fact name="Text">
            <code className="font-mono text-xs break-all">{signed.text}</code>
          </Fact>
          <Fact name="Signature">
            <code className="font-mono text-xs break-all">{signed.signature}</code>
          </Fact>
          {children}
        </Facts>
      </Card>
    </Section>
  )
}
