import { defaultTerms } from '../src/grants/grant.ts'
import type { Grant } from '../src/grants/grant.ts'
import { judgeUrl } from '../src/proxy/destination.ts'
import { assertMayCall } from '../src/proxy/policy.ts'
import type { ProviderRules } from '../src/proxy/policy.ts'
import type { HeaderList } from '../src/proxy/upstream.ts'

const now = new Date('2026-11-15T12:00:00.000Z')

export interface JudgedRequest {
  method?: string
  headers?: HeaderList
  body?: string | Buffer | undefined
  /** Of the grant, which has no limits otherwise. */
  terms?: Partial<Grant>
  rules?: Partial<ProviderRules>
}

/** Judges a call that a grant for its host covers, at a provider that nothing is known of but its preset, or host. */
export function judgeCall(url: string, given: JudgedRequest): void {
  const { method = 'POST', headers = [], body } = given
  const destination = judgeUrl(url, undefined)
  const sent = { destination, method, headers, body: body === undefined ? undefined : Buffer.from(body) }
  assertMayCall(...judgedBy(given, destination.host), sent)
}

export function judgedBy({ terms, rules }: JudgedRequest, host: string): [Grant, ProviderRules] {
  const grant: Grant = {
    ...{ grantId: 'grt_1', agentId: 'agt_1', userId: 'usr_1', connectionId: 'con_1', accessRequestId: 'arq_1' },
    ...{ kind: 'connection', allowedHosts: [host], allowedMethods: null, allowedPaths: null },
    ...{ maxCalls: null, calls: 0, lastUsedAt: null, createdAt: now, expiresAt: null },
    ...{ revokedAt: null, revokedBy: null, isCutOff: false, isPaused: false, termsVersion: 1, ...defaultTerms },
    ...terms,
  }
  const known = { metadata: { issuer: 'https://auth.example.com' }, preset: null, apiHosts: [host], apiHost: null }
  return [grant, { ...known, allowRange: false, ...rules }]
}
