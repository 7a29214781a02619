/**
 * The region and the service that requests to a host are signed for. Only what the provider lists is ever signed: a
 * signature for one service is worthless at another.
 */
import type { AwsScope } from '@sallyport/protocol/proxy'
import { ServiceError } from '../../platform/errors.ts'
import { matchesHost, readApiHost } from '../api-hosts.ts'
import type { AuthMethod } from '../auth-method.ts'

export type SigningEntry = NonNullable<AuthMethod['signs']>[number]
export type SigningScope = Required<AwsScope>

/** A label of a host that is the region, as in `*.s3.{region}.amazonaws.com`. */
const regionLabel = '{region}'
/** `us-east-1`, `us-gov-west-1`: no service and no bucket is mistaken for one. */
const looksLikeRegion = /^[a-z]{2,4}(?:-[a-z]{2,12}){1,2}-[1-9]\d?$/
const exampleRegion = 'us-east-1'

/** All that the entries give for a host, written as in a URL. */
export function scopesAt(entries: readonly SigningEntry[], host: string): SigningScope[] {
  const found = entries.flatMap((entry) => scopeAt(entry, host) ?? [])
  return found.filter((one, index) => found.findIndex((other) => isSame(one, other)) === index)
}

/** The one of these scopes that the caller has chosen, if there is a choice. */
export function chooseScope(scopes: readonly SigningScope[], chosen: AwsScope | undefined): SigningScope {
  if (scopes.length === 0) {
    const message = 'The provider has no AWS service at this host, so a call to it cannot be signed.'
    throw new ServiceError('host_not_allowed', { field: 'url', message })
  }
  const { region, service } = chosen ?? {}
  const left = scopes.filter(
    (one) => (region === undefined || region === one.region) && (service === undefined || service === one.service),
  )
  const [only, second] = left
  if (only && !second) return only
  const known = scopes.map((one) => `${one.service} in ${one.region}`).join(', ')
  const message = `Set "aws" to the region and service of the call. At this host: ${known}.`
  throw new ServiceError(only && !chosen ? 'missing_field' : 'invalid_field', { field: 'aws', message })
}

function isSame(one: SigningScope, other: SigningScope): boolean {
  return one.region === other.region && one.service === other.service
}

function scopeAt({ host: pattern, region, service }: SigningEntry, host: string): SigningScope | undefined {
  if (region !== null) return matchesHost(pattern, host) ? { region, service } : undefined
  const wanted = labelsOf(pattern)
  const called = labelsOf(host)
  // Counted from the end: in front of it a wildcard stands for any number of labels.
  const found = called.at(wanted.indexOf(regionLabel) - wanted.length) ?? ''
  const isThere = looksLikeRegion.test(found) && matchesHost(pattern.replace(regionLabel, found), host)
  return isThere ? { region: found, service } : undefined
}

function labelsOf(host: string): string[] {
  return host
    .toLowerCase()
    .replace(/\.?(?::\d+)?$/, '')
    .split('.')
}

/** Checked, and complete. Every host is one of the provider. */
export function readSigningEntries(
  given: readonly { host: string; region?: string | undefined; service: string }[],
  apiHosts: readonly string[],
  field: string,
): SigningEntry[] {
  return given.map(({ host, region, service }, index) => {
    const at = `${field}.${index}`
    const regions = labelsOf(host).filter((label) => label === regionLabel).length
    if (regions > 1 || (regions === 1) !== (region === undefined)) {
      const message = 'Set "region", or write the label {region} once in "host", where its hosts have their region.'
      throw new ServiceError('invalid_field', { field: `${at}.region`, message })
    }
    const isWildcard = host.startsWith('*.')
    const name = (isWildcard ? host.slice(2) : host).replace(regionLabel, exampleRegion)
    const example = `${isWildcard ? 'example.' : ''}${readApiHost(name, `${at}.host`)}`
    if (name.includes('*') || !apiHosts.some((entry) => matchesHost(entry, example))) {
      throw new ServiceError('invalid_field', { field: `${at}.host`, message: 'The host is not one of "api_hosts".' })
    }
    return { host, region: region ?? null, service }
  })
}

/** Where an entry's service is asked about accounts. */
export function endpointOf({ host, region, service }: SigningEntry): { url: URL; scope: SigningScope } {
  const scope = { region: region ?? exampleRegion, service }
  return { url: new URL(`https://${host.replace(regionLabel, exampleRegion)}/`), scope }
}
