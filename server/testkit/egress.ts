/** The real egress for a test, with a fake DNS lookup and the test's own CA. */
import type { TestContext } from 'node:test'
import { parseAllowEntry } from '../src/platform/egress/destinations.ts'
import { createEgress } from '../src/platform/egress/egress.ts'
import type { Egress } from '../src/platform/egress/egress.ts'
import type { EgressProxy } from '../src/platform/egress/egress-proxy.ts'
import type { Lookup } from '../src/platform/egress/resolver.ts'

/** The User-Agent of the tests. */
export const userAgent = 'Sallyport/0.0.0-test'

interface TestEgress {
  allow: string[]
  caPem?: string
  lookup?: Lookup
  bounds?: { maxSocketsPerPool: number; maxSockets: number }
  proxy?: EgressProxy
}

/** Every name resolves to 127.0.0.1 unless the test says otherwise. `allow` is written as in SALLYPORT_EGRESS_ALLOW. */
export function testEgress(
  t: Pick<TestContext, 'after'>,
  { allow, caPem, lookup = leadingTo(['127.0.0.1']), bounds, proxy }: TestEgress,
): Egress {
  const given = { ...(caPem !== undefined && { ca: caPem }), ...(bounds && { bounds }) }
  const egress = createEgress({ allow: allow.map(parseAllowEntry), userAgent, lookup, proxy, ...given })
  t.after(() => egress.close())
  return egress
}

/** A lookup that returns these results in order, and then the last one every time. */
export function leadingTo(...answers: string[][]): Lookup & { asked: string[] } {
  const asked: string[] = []
  const lookup: Lookup = (name) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(name)
    return Promise.resolve(answer.map((address) => ({ address })))
  }
  return Object.assign(lookup, { asked })
}
