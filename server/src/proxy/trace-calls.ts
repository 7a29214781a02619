/** Spans of what a call waits for: its commit, its token and its requests. Loaded always, used only with a collector. */
import type { CallLog } from '../call-log/call-log.ts'
import type { Standing } from '../grants/standing.ts'
import { memoizeByObject } from '../platform/cache/memoize.ts'
import type { ChildSpan, Tracer } from '../platform/http/request-spans.ts'
import { isVerified } from '../providers/provider.ts'
import { providerLabel } from './proxy-metrics.ts'
import type { Route, UpstreamHead, UpstreamRequest } from './upstream.ts'

export function traceCallLog({ span }: Tracer, callLog: CallLog): CallLog {
  return {
    ...callLog,
    begin: (call) => span('record call', 'client', () => callLog.begin(call)),
    beginUnless: (call, find) => span('record call', 'client', () => callLog.beginUnless(call, find)),
    hop: (call, why) => span('record call', 'client', () => callLog.hop(call, why)),
  }
}

/** Providers that get `traceparent`, by the slugs that an admin gave them: an agent can't choose a slug of the list. */
export function traceRoutes(
  { span }: Tracer,
  routeOf: (standing: Standing) => Route,
  tracedProviders: readonly string[],
): (standing: Standing) => Route {
  const tracedUpstream = (route: Route, provider: string, isShown: boolean): Route => {
    const over = <Head extends UpstreamHead>(send: (request: UpstreamRequest) => Promise<Head>) => {
      return (request: UpstreamRequest): Promise<Head> =>
        span('upstream request', 'client', async (child) => {
          const response = await send(isShown && child ? withTraceparent(request, child) : request)
          child?.set({ 'sallyport.provider': provider, 'http.response.status_code': response.status })
          return response
        })
    }
    const { upstream, credential, openAt } = route
    return {
      ...route,
      upstream: { whole: over(upstream.whole), streamed: over(upstream.streamed) },
      credential: (refused) => {
        const found = credential(refused)
        return found instanceof Promise ? span('get credential', 'internal', () => found) : found
      },
      ...(openAt && {
        openAt: (host) => {
          const open = openAt(host)
          return open && tracedUpstream(open, provider, false)
        },
      }),
    }
  }
  return memoizeByObject((standing) => {
    const { grant, provider } = standing
    const slug = provider?.slug ?? ''
    const isListed = provider ? isVerified(provider) && tracedProviders.includes(slug) : false
    return tracedUpstream(routeOf(standing), providerLabel(standing), grant.kind !== 'sandbox' && isListed)
  })
}

/** After the credential was added: a signature covers the other headers, but not this one. */
function withTraceparent(request: UpstreamRequest, { traceparent }: ChildSpan): UpstreamRequest {
  return { ...request, headers: [...request.headers, ['traceparent', traceparent]] }
}
