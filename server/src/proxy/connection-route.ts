/** The route of calls on a user's connection: with their token, to the hosts of its provider, over https. */
import { whoShaped } from '../connections/check-credential.ts'
import type { Standing } from '../grants/standing.ts'
import { acceptedEncodings } from '../platform/egress/decoding.ts'
import type { Egress, EgressRequest } from '../platform/egress/egress.ts'
import type { SuppliedBy } from '../platform/egress/destinations.ts'
import { ServiceError } from '../platform/errors.ts'
import { perSecond } from '../platform/limits/rate-limits.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import {
  isFormMethod,
  isMintedMethod,
  isPlacedToken,
  isSigned,
  presetOfKind,
} from '../providers/auth-kinds/auth-kind.ts'
import type { AuthMethod } from '../providers/auth-method.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { injectorOf } from '../providers/injector.ts'
import { openHostsOf } from '../providers/presets/tool-rules.ts'
import { compileSecrets } from '../redaction/secret-forms.ts'
import { awsInjects } from './credential-kinds/aws.ts'
import { headerInjects } from './credential-kinds/header.ts'
import { enteredInjects } from './credential-kinds/entered.ts'
import { methodNamed } from './credentials.ts'
import type { CredentialOf } from './credentials.ts'
import type { Credential, HeaderList, Injects, Route, Upstream, UpstreamRequest } from './upstream.ts'

interface ConnectionRouteNeeds {
  config: { proxyRatePerAgent: number; proxyBurstPerAgent: number }
  egress: Egress
  credentialOf: CredentialOf
}

export function connectionRoute(needs: ConnectionRouteNeeds, { grant, connection, provider }: Standing): Route {
  // A provider can be deleted only when it has no connections, so this is a grant whose connection is gone.
  if (!connection || !provider) throw new ServiceError('grant_revoked')
  const { proxyRatePerAgent, proxyBurstPerAgent } = needs.config
  const { injection, metadata, preset, apiHosts, allowRange } = provider
  const method = methodNamed(provider, connection.authMethod)
  const isEntered = isFormMethod(method) && !isMintedMethod(method)
  const injectsOf = () => {
    if (isFormMethod(method) && isSigned(method)) return awsInjects(method)
    return isEntered || isPlacedToken(method) ? enteredInjects(method) : headerInjects(injection)
  }
  // Sockets that were opened with one credential are not used with another. A refreshed token is the same credential.
  const pool = isEntered ? `${connection.connectionId} ${connection.version}` : connection.connectionId
  const rate = proxyRatePerAgent > 0 && {
    rate: { key: `proxy-call:${grant.agentId}`, limit: perSecond(proxyRatePerAgent, proxyBurstPerAgent) },
  }
  const openHosts = openHostsOf(preset)
  const withoutCredential: Route = {
    upstream: httpsUpstream(needs.egress, `${connection.connectionId} without a credential`, 'stranger'),
    ...{ rules: undefined, injects: nothingInjected, credential: () => noCredential, ...rate },
  }
  return {
    upstream: httpsUpstream(needs.egress, pool, whoShaped(provider, method)),
    rules: {
      metadata: withTenantEndpoint(metadata, method, connection.apiHost),
      preset: preset ?? presetOfKind(method),
      apiHosts,
      apiHost: connection.apiHost,
      allowRange,
      signs: method.signs,
    },
    injects: injectsOf(),
    ...(isEntered && { placed: injectorOf(method).placed }),
    credential: (refused) => needs.credentialOf(connection, provider, refused),
    openAt: (host) => (openHosts.some((entry) => matchesHost(entry, host)) ? withoutCredential : undefined),
    ...rate,
  }
}

const nothingInjected: Injects = { headers: [], writtenIn: () => [], shownFor: () => null }
const noCredential: Credential = { apply: () => undefined, forms: compileSecrets([]), wasAwaited: false }

/** A tenant's token endpoint is never proxied either. */
function withTenantEndpoint(metadata: Metadata, { token_url }: AuthMethod, apiHost: string | null): Metadata {
  if (token_url === undefined || apiHost === null) return metadata
  return { ...metadata, token_endpoint: token_url.replace(/^https:\/\/[^/]*/, `https://${apiHost}`) }
}

/** Only calls of the same connection share sockets: a confused upstream can't give one user another's answer. */
function httpsUpstream(egress: Egress, pool: string, suppliedBy: SuppliedBy): Upstream {
  const toEgress = (request: UpstreamRequest): EgressRequest => {
    const headers: HeaderList = [...request.headers, ['accept-encoding', acceptedEncodings]]
    return { ...request, headers, pool, suppliedBy }
  }
  return {
    whole: (request) => egress.collect(toEgress(request)),
    streamed: (request) => egress.request(toEgress(request)),
  }
}
