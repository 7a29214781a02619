/**
 * Checks a provider's URLs before any request is sent to them: each has to be a plain https URL that OAuth allows. The
 * same rules apply to discovered URLs.
 */
import { ServiceError } from '../platform/errors.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'

/** The endpoints of RFC 8414, and their names in request bodies. */
export const endpointFields = {
  authorization_endpoint: 'authorization_url',
  token_endpoint: 'token_url',
  registration_endpoint: 'registration_endpoint',
  device_authorization_endpoint: 'device_authorization_endpoint',
  revocation_endpoint: 'revocation_endpoint',
  introspection_endpoint: 'introspection_endpoint',
  pushed_authorization_request_endpoint: 'pushed_authorization_request_endpoint',
  userinfo_endpoint: 'userinfo_endpoint',
} as const satisfies Partial<Record<keyof Metadata, string>>

const endpointNames = Object.keys(endpointFields) as (keyof typeof endpointFields)[]

/** Parameters that the service sets itself. RFC 6749 §3.1: none may be repeated. */
export const ownParameters: ReadonlySet<string> = new Set([
  'client_id',
  'client_secret',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code',
  'code_challenge',
  'code_challenge_method',
  'code_verifier',
  'grant_type',
  'refresh_token',
  'device_code',
  'token',
  'request',
  'request_uri',
])

const maxUrlLength = 2000

/** A copy with the known members only, normalized to the form in which they are used later. */
export function readMetadata(input: Readonly<Partial<Record<keyof Metadata, unknown>>>): Partial<Metadata> {
  const endpoints = endpointNames
    .filter((name) => input[name] !== undefined)
    .map((name) => [name, readEndpoint(input[name], endpointFields[name]).href])
  const algorithms = input.id_token_signing_alg_values_supported
  const isNamed = input.authorization_response_iss_parameter_supported
  return {
    ...(input.issuer !== undefined && { issuer: readIssuer(input.issuer) }),
    ...(Object.fromEntries(endpoints) as Partial<Metadata>),
    ...(isAlgorithms(algorithms) && { id_token_signing_alg_values_supported: algorithms }),
    ...(isNamed === true && { authorization_response_iss_parameter_supported: true }),
  }
}

/** All its URLs, each with the name of its member. */
export function urlsOf(metadata: Partial<Metadata>): { field: string; url: URL }[] {
  const endpoints = endpointNames.map((name) => ({ field: endpointFields[name], text: metadata[name] }))
  return [{ field: 'issuer_url', text: metadata.issuer }, ...endpoints].flatMap(({ field, text }) =>
    text === undefined ? [] : [{ field, url: new URL(text) }],
  )
}

/** Throws unless it is enough to connect an account. Without an issuer, the origin of the consent page is used. */
export function wholeMetadata(metadata: Partial<Metadata>): Metadata {
  const { token_endpoint, authorization_endpoint, device_authorization_endpoint } = metadata
  const missing = (field: string) =>
    new ServiceError('missing_field', { field, message: `"${field}" is missing and was not discovered.` })
  if (token_endpoint === undefined) throw missing('token_url')
  const consent = authorization_endpoint ?? device_authorization_endpoint
  if (consent === undefined) throw missing('authorization_url')
  return { ...metadata, issuer: metadata.issuer ?? new URL(consent).origin }
}

export function readUrl(value: unknown, field: string): URL {
  const url = typeof value === 'string' && value.length <= maxUrlLength ? URL.parse(value) : null
  if (!url) throw invalid(field, 'The URL cannot be parsed. Use an absolute https URL.')
  if (url.hash !== '' || String(value).includes('#')) throw invalid(field, 'The URL has a fragment. Remove it.')
  return url
}

function readEndpoint(value: unknown, field: string): URL {
  const url = readUrl(value, field)
  if ([...url.searchParams.keys()].some((name) => ownParameters.has(name.toLowerCase()))) {
    throw invalid(field, 'The URL has a query parameter that the service sets on each request. Remove it.')
  }
  return url
}

/** RFC 8414 §2. Kept exactly as given: responses are compared with it, and users see it. */
function readIssuer(value: unknown): string {
  const url = readUrl(value, 'issuer_url')
  const text = String(value)
  if (url.search !== '' || text.includes('?')) throw invalid('issuer_url', 'The issuer URL has a query. Remove it.')
  if (url.href !== text && url.href !== `${text}/`) {
    throw invalid('issuer_url', 'The issuer URL is not normalized. Write it as https://host/path, in ASCII.')
  }
  return text
}

function isAlgorithms(value: unknown): value is string[] {
  const isName = (one: unknown) => typeof one === 'string' && /^[A-Za-z0-9-]{1,20}$/.test(one)
  return Array.isArray(value) && value.length <= 50 && value.every(isName)
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid_url', { field, message })
}
