/**
 * From what somebody says of a provider to its whole metadata. What is said is judged before anything leaves; what is
 * then discovered is judged in the same way before anything is believed.
 */
import type { Egress, SuppliedBy } from '../platform/egress/egress.ts'
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

/** As it comes in a body. */
export interface Said {
  discoveryUrl: string | undefined
  metadata: Readonly<Partial<Record<keyof Metadata, unknown>>>
}

/** Judged, and on nobody's word but the caller's. */
export interface Description {
  given: Partial<Metadata>
  /** Where the rest is to be read. */
  discovery: { url: URL; field: string } | undefined
  discoveryUrl: string | null
}

export function describe({ egress }: FindMetadataNeeds, said: Said, suppliedBy: SuppliedBy): Description {
  const given = readMetadata(said.metadata)
  const discovery = whereToDiscover(said.discoveryUrl, given)
  const urls = said.discoveryUrl !== undefined && discovery ? [discovery, ...urlsOf(given)] : urlsOf(given)
  judgeUrls(egress, urls, suppliedBy)
  return { given, discovery, discoveryUrl: said.discoveryUrl === undefined || !discovery ? null : discovery.url.href }
}

/** What the operator gives counts before what is discovered; but for who the issuer is, on which both must agree. */
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
  const said = await oauth.discover(url, suppliedBy).catch((error: unknown) => {
    throw coarse(error, field)
  })
  const found = { ...readMetadata(said), issuer: said.issuer }
  judgeUrls(egress, urlsOf(found), suppliedBy)
  return found
}

/** The consent page is the one that only a person's browser opens. */
function judgeUrls(egress: Egress, urls: readonly { url: URL; field: string }[], suppliedBy: SuppliedBy): void {
  for (const { url, field } of urls) {
    if (field === endpointFields.authorization_endpoint) egress.judgePageUrl(url, suppliedBy, field)
    else egress.judgeUrl(url, suppliedBy, field)
  }
}

/** A stranger may add to what an issuer says of itself: under one domain there can be tenants who don't trust each other. */
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

/** Whether the metadata is whole, or can be once it is discovered. */
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

/** One answer for all that can go wrong at the other end: nobody can use it to look around in a network. */
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
