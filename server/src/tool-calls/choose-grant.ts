/**
 * Which grant of a key a tunnelled request is made with: the one that is named where the credential will stand, otherwise
 * the only one that covers it. A name anywhere else is the tool's text and chooses nothing.
 */
import { coversCall } from '../grants/grant.ts'
import type { Standing } from '../grants/standing.ts'
import type { StandingStore } from '../grants/standing-store.ts'
import { whyUnusable } from '../grants/usable.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Destination } from '../proxy/destination.ts'
import { mayReach } from '../proxy/policy.ts'
import type { Route } from '../proxy/upstream.ts'
import type { CallingTool } from '../tool-keys/tool-key.ts'

export interface ChooseNeeds {
  database: Database
  standings: StandingStore
  routeOf: (standing: Standing) => Route
  clock: Clock
}

export interface Asked {
  method: string
  destination: Destination
  headers: ReadonlyMap<string, string>
}

interface Candidate {
  standing: Standing
  grantId: string
  route: Route | undefined
}

export async function chooseGrant(
  { database, standings, routeOf, clock }: ChooseNeeds,
  { agent: { agentId }, key }: CallingTool,
  asked: Asked,
): Promise<string> {
  const { host, path } = asked.destination
  const found: Candidate[] = []
  for (const grantId of key.grantIds) {
    const standing = await standings.find(database.queries, agentId, grantId)
    // Without its connection a grant goes nowhere.
    if (standing) found.push({ standing, grantId, route: standing.connection ? routeOf(standing) : undefined })
  }
  const here = found.filter(({ standing, route }) => mayReach(standing.grant, route?.rules, host))
  const named = namedGrants(here, asked)
  if (named.some((grantId) => !key.grantIds.includes(grantId))) throw notOfKey()
  if (named.length > 1) throw ambiguous(named)
  const [only] = named
  if (only !== undefined) return only

  const isUsable = ({ standing }: Candidate) => !whyUnusable({ ...standing, isTokenCurrent: true }, clock())
  const covering = here.filter(({ standing }) => coversCall(standing.grant, { host, path, methods: [asked.method] }))
  const usable = covering.filter(isUsable)
  if (usable.length > 1) throw ambiguous(usable.map(({ grantId }) => grantId))
  // One that does not allow the call says why.
  const opening = found.filter(({ route }) => route?.openAt?.(host))
  const chosen = usable[0] ?? covering[0] ?? here[0] ?? opening.find(isUsable) ?? opening[0]
  if (chosen) return chosen.grantId
  throw new ServiceError('host_not_allowed', { message: 'No grant of this key covers this host.' })
}

/** Of a request that names a grant that the key is not for: another agent's, or another one of the same agent. */
export function notOfKey(): ServiceError {
  return new ServiceError('forbidden', { message: 'This key is not for the grant that the call names.' })
}

function ambiguous(grantIds: readonly string[]): ServiceError {
  return new ServiceError('grant_ambiguous', { extra: { grant_ids: grantIds } })
}

/** A tool may have put something before it, because it insists on a shape: `sk_test_sp_grant_…`. */
const placeholder = /sp_grant_(grt_[0-9a-z]{26})/g

function namedGrants(candidates: readonly Candidate[], { destination, headers }: Asked): string[] {
  const places = new Set(['authorization', ...candidates.flatMap(({ route }) => route?.injects.headers ?? [])])
  const inHeaders = [...headers].filter(([name]) => places.has(name.replaceAll('_', '-'))).map(([, value]) => value)
  const inUrl = candidates.flatMap(({ route }) => route?.injects.writtenIn(destination.url) ?? [])
  const texts = [...inHeaders, ...inHeaders.map(decodedBasic), ...inUrl]
  return [...new Set(texts.flatMap((text) => [...text.matchAll(placeholder)].map(([, grantId = '']) => grantId)))]
}

function decodedBasic(value: string): string {
  const [, encoded = ''] = /^basic ([\w+/=-]+)$/i.exec(value) ?? []
  return Buffer.from(encoded, 'base64').toString('latin1')
}
