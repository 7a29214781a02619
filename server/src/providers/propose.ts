/**
 * An agent proposes a provider that nobody has verified. Nothing in it is trusted: its addresses stay untrusted for
 * good, they have to be on one site, and rate limits apply before any request is sent to them.
 */
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import { perDay, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { defaultApiHosts, readApiHosts } from './api-hosts.ts'
import { urlsOf } from './endpoints.ts'
import { oauth2Method } from './auth-method.ts'
import { completeMetadata, describe, isEnough } from './find-metadata.ts'
import type { Description, FindMetadataNeeds, MetadataInput } from './find-metadata.ts'
import { resemblesPreset } from './presets/look-alikes.ts'
import { bearerInjection, holdsSlug } from './provider.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'
import { registerClient } from './register-client.ts'
import type { Registration } from './register-client.ts'
import { replaceIncomplete } from './replace-incomplete.ts'
import { assertOneSite } from './site.ts'
import { assertNotReserved, slugFrom } from './slug.ts'

export interface ProposeNeeds extends FindMetadataNeeds {
  config: Pick<Config, 'baseUrl' | 'proposals' | 'proposalsPerDay' | 'proposalsPerDayInAll'>
  database: Database
  providers: ProviderStore
  audit: AuditWriter
  clock: Clock
}

export interface Proposal extends MetadataInput {
  name: string
  slug: string | undefined
  scopes: string[]
  apiHosts: string[] | undefined
}

interface NamedUrl {
  url: URL
  field: string
}

export async function proposeProvider(
  needs: ProposeNeeds,
  agent: { agentId: string },
  { name, scopes, apiHosts, ...proposal }: Proposal,
  requestId: string,
): Promise<Provider> {
  const { config, database, providers, audit, clock } = needs
  if (config.proposals === 'off') {
    throw new ServiceError('forbidden', {
      message: 'Agents are not allowed to propose providers. Ask an administrator to add it.',
    })
  }
  const ownSlug = proposal.slug ?? slugFrom(name)
  const slug = ownSlug ?? `provider-${newId('prv', clock()).slice(-8)}`
  assertNotReserved(slug)
  // A slug that was not given is derived from the name, so check the name first: the error has to blame the name.
  assertOwnName('provider_name', name)
  if (ownSlug !== undefined) assertOwnName('slug', ownSlug)
  const description = describe(needs, proposal, 'stranger')
  const isComplete = isEnough(description)
  const hosts = apiHosts && readHosts(needs, apiHosts, isComplete)
  assertOneSite([...urlsGiven(description), ...(hosts ?? [])])
  await takeFromLimits(needs, agent, slug, isComplete)

  const { metadata, client, error } = isComplete
    ? await askForAll(needs, { description, hosts }, slug, scopes)
    : await keepGiven(needs, description)
  const now = clock()
  const provider: Provider = {
    providerId: newId('prv', now),
    slug,
    name,
    source: 'proposal',
    preset: null,
    proposedBy: agent.agentId,
    status: client ? 'active' : 'pending_credentials',
    metadata,
    discoveryUrl: description.discoveryUrl,
    scopes,
    apiHosts: hosts?.map(({ url }) => url.host) ?? (isComplete ? defaultApiHosts(metadata) : []),
    authMethods: [oauth2Method],
    clientId: client?.clientId ?? null,
    authMethod: client?.authMethod ?? 'client_secret_basic',
    authorizationParams: {},
    injection: bearerInjection,
    allowRange: false,
    registrationError: error,
    createdAt: now,
    updatedAt: now,
  }
  await database.transaction(async (tx) => {
    // Of two concurrent proposals, the client that the slower one registered is never used.
    if (isComplete) await replaceIncomplete(needs, tx, slug, requestId)
    const isNew = await providers.insert(tx, provider, client?.clientSecret)
    if (!isNew) throw slugTaken()
    const { providerId, status } = provider
    const detail = {
      ...{ provider_id: providerId, slug, status, registration_error: error, issuer: metadata.issuer ?? null },
      ...(hosts && { api_hosts: provider.apiHosts }),
    }
    await audit.append(tx, { event: 'provider.proposed', at: now, requestId, agentId: agent.agentId, detail })
  })
  return provider
}

function assertOwnName(field: string, text: string): void {
  if (!resemblesPreset(text)) return
  const message = `"${field}" could be mistaken for a well-known provider. Choose another, or ask an administrator to add that provider.`
  throw new ServiceError('invalid_field', { field, message })
}

/** Each host by name: a wildcard would hide which hosts of a site with many tenants get the token. */
function readHosts({ egress }: ProposeNeeds, entries: readonly string[], isComplete: boolean): NamedUrl[] {
  const refuse = (field: string, message: string) => new ServiceError('invalid_field', { field, message })
  if (!isComplete)
    throw refuse('api_hosts', 'A proposal without endpoints cannot name hosts. An administrator sets both.')
  const wildcard = entries.findIndex((entry) => entry.startsWith('*'))
  if (wildcard !== -1) {
    throw refuse(`api_hosts.${wildcard}`, 'Name each host. Only an administrator can set wildcards.')
  }
  return readApiHosts(entries).map((host, index) => {
    const named = { url: new URL(`https://${host}`), field: `api_hosts.${index}` }
    egress.judgeUrl(named.url, 'stranger', named.field)
    return named
  })
}

/** The issuer, or the URL where it is discovered, comes first: it determines the site. */
export function urlsGiven({ given, discovery }: Description): NamedUrl[] {
  const urls = urlsOf(given)
  if (!discovery) return urls
  return given.issuer === undefined ? [discovery, ...urls] : [...urls, discovery]
}

async function takeFromLimits(
  { config, database, providers, clock }: ProposeNeeds,
  { agentId }: { agentId: string },
  slug: string,
  isComplete: boolean,
): Promise<void> {
  const now = clock()
  await database.transaction(async (tx) => {
    const holder = await providers.findBySlug(tx, slug)
    if (holder && (!isComplete || holdsSlug(holder))) throw slugTaken()
    await takeFromLimit(tx, `proposals-day:${agentId}`, perDay(config.proposalsPerDay), now)
    await takeFromLimit(tx, 'proposals-day:all', perDay(config.proposalsPerDayInAll), now)
  })
}

async function askForAll(
  needs: ProposeNeeds,
  { description, hosts = [] }: { description: Description; hosts: NamedUrl[] | undefined },
  slug: string,
  scopes: string[],
) {
  const metadata = await askProvider(needs, description, hosts)
  return { metadata, ...(await askForClient(needs, { metadata, slug, scopes })) }
}

/** Everything but the name is optional (spec v4, Endpoints): an admin sets the endpoints that are missing. */
async function keepGiven(needs: ProposeNeeds, { given }: Description) {
  await judgeNames(needs, urlsOf(given))
  return { metadata: given, client: undefined, error: 'endpoints_missing' as const }
}

/**
 * The complete metadata of a proposed provider: on one site, with its API too, and at addresses that an untrusted
 * caller may use.
 */
export async function askProvider(
  needs: FindMetadataNeeds,
  description: Description,
  hosts: readonly NamedUrl[] = [],
): Promise<Metadata> {
  const metadata = await completeMetadata(needs, description, 'stranger')
  const urls = [...urlsOf(metadata), ...hosts]
  assertOneSite(urls)
  await judgeNames(needs, urls)
  return metadata
}

async function judgeNames({ egress }: FindMetadataNeeds, urls: readonly NamedUrl[]): Promise<void> {
  const hosts = new Map(urls.toReversed().map((one) => [one.url.host, one]))
  for (const { url, field } of hosts.values()) await egress.judgeName(url, 'stranger', field)
}

function askForClient(
  needs: ProposeNeeds,
  provider: { metadata: Metadata; slug: string; scopes: readonly string[] },
): Promise<Registration> | Registration {
  if (needs.config.proposals === 'review') return { client: undefined, error: 'review' }
  return registerClient(needs, provider, 'stranger')
}

function slugTaken(): ServiceError {
  return new ServiceError('slug_taken', { field: 'slug' })
}
