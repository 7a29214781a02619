/**
 * Completes the metadata of a provider from what the caller gives. Given URLs are checked before any request is sent;
 * discovered ones are checked in the same way before they are used.
 */
import type { Egress } from '../platform/egress/egress.ts'
import type { SuppliedBy } from '../platform/egress/destinations.ts'
import { ServiceError } from '../platform/errors.ts'
import { isUnavailable } from '../platform/oauth/failures.ts'
import { isSameIssuer, OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { endpointFields, readMetadata, readUrl, urlsOf, wholeMetadata } from './endpoints.ts'

export interface FindMetadataNeeds {
  egress: Egress
  oauth: OAuth
}

/** As given in a request body, not checked yet. */
export interface MetadataInput {
  discoveryUrl: string | undefined
  metadata: Readonly<Partial<Record<keyof Metadata, unknown>>>
}

/** Checked. It contains only what the caller gave: nothing is discovered yet. */
export interface Description {
  given: Partial<Metadata>
  /** Where to discover the rest. */
  discovery: { url: URL; field: string } | undefined
  discoveryUrl: string | null
}

export function describe({ egress }: FindMetadataNeeds, input: MetadataInput, suppliedBy: SuppliedBy): Description {
  const given = readMetadata(input.metadata)
  const discovery = whereToDiscover(input.discoveryUrl, given)
  const urls = input.discoveryUrl !== undefined && discovery ? [discovery, ...urlsOf(given)] : urlsOf(given)
  judgeUrls(egress, urls, suppliedBy)
  return { given, discovery, discoveryUrl: input.discoveryUrl === undefined || !discovery ? null : discovery.url.href }
}

/** Given members take precedence over discovered ones, except for the issuer, which has to be the same. */
export async function completeMetadata(
  needs: FindMetadataNeeds,
  { given, discovery }: Description,
  suppliedBy: SuppliedBy,
): Promise<Metadata> {
  if (!discovery) return givenMetadata(given)
  const found = await discoverMetadata(needs, discovery, suppliedBy)
  if (given.issuer !== undefined && !isSameIssuer(found.issuer, given.issuer)) throw foreignIssuer('issuer_url')
  if (suppliedBy === 'stranger') assertNoContradiction(given, found)
  return wholeMetadata({ ...found, ...given, issuer: found.issuer })
}

export async function discoverMetadata(
  { egress, oauth }: FindMetadataNeeds,
  { url, field }: { url: URL; field: string },
  suppliedBy: SuppliedBy,
): Promise<Metadata> {
  const document = await oauth.discover(url, suppliedBy).catch((error: unknown) => {
    throw coarse(error, field)
  })
  const found = { ...readMetadata(document), issuer: document.issuer }
  judgeUrls(egress, urlsOf(found), suppliedBy)
  return found
}

/** The authorization endpoint is the only one that is opened by the user's browser, never by this service. */
function judgeUrls(egress: Egress, urls: readonly { url: URL; field: string }[], suppliedBy: SuppliedBy): void {
  for (const { url, field } of urls) {
    if (field === endpointFields.authorization_endpoint) egress.judgePageUrl(url, suppliedBy, field)
    else egress.judgeUrl(url, suppliedBy, field)
  }
}

/** An agent may only add to the issuer's metadata: there can be tenants on one domain who don't trust each other. */
function assertNoContradiction(given: Partial<Metadata>, found: Metadata): void {
  const discovered = new Map(urlsOf(found).map(({ field, url }) => [field, url.href]))
  for (const { field, url } of urlsOf({ ...given, issuer: found.issuer })) {
    if ((discovered.get(field) ?? url.href) === url.href) continue
    throw new ServiceError('invalid_field', { field, message: `"${field}" does not match the issuer's metadata.` })
  }
}

function whereToDiscover(
  discoveryUrl: string | undefined,
  { issuer, authorization_endpoint, token_endpoint }: Partial<Metadata>,
): Description['discovery'] {
  if (discoveryUrl !== undefined) return { url: readUrl(discoveryUrl, 'discovery_url'), field: 'discovery_url' }
  if (authorization_endpoint !== undefined && token_endpoint !== undefined) return undefined
  return issuer === undefined ? undefined : { url: new URL(issuer), field: 'issuer_url' }
}

/** Whether the metadata is complete, or can be completed by discovery. */
export function isEnough({ given, discovery }: Description): boolean {
  const { token_endpoint, authorization_endpoint, device_authorization_endpoint } = given
  return (
    discovery !== undefined ||
    (token_endpoint !== undefined && (authorization_endpoint ?? device_authorization_endpoint) !== undefined)
  )
}

function givenMetadata(given: Partial<Metadata>): Metadata {
  if (given.authorization_endpoint !== undefined || given.token_endpoint !== undefined) return wholeMetadata(given)
  const message = 'Set "issuer_url" or "discovery_url", or both "authorization_url" and "token_url".'
  throw new ServiceError('missing_field', { field: 'issuer_url', message })
}

/** The same error for everything that can go wrong at the other end, so that it can't be used to probe a network. */
function coarse(error: unknown, field: string): unknown {
  if (error instanceof OAuthAnswerInvalid || error instanceof OAuthRefused) {
    return foreignIssuer(field, error.message)
  }
  if (!isUnavailable(error)) return error
  const { code, message: detail } = error
  if (code === 'address_not_allowed') return new ServiceError(code, { field, detail })
  return new ServiceError('provider_unavailable', { field, detail })
}

function foreignIssuer(field: string, detail?: string): ServiceError {
  const message = `The document found for "${field}" is not valid metadata of that issuer.`
  return new ServiceError('invalid_field', { field, message, ...(detail !== undefined && { detail }) })
}
