import { memoizeByObject } from './platform/cache/memoize.ts'
import type { Standing } from './grants/standing.ts'
import { connectionRoute } from './proxy/connection-route.ts'
import type { Route } from './proxy/upstream.ts'
import { sandboxRoute } from './sandbox/sandbox-route.ts'

type RouteNeeds = Parameters<typeof sandboxRoute>[0] & Parameters<typeof connectionRoute>[0]

/** Where the calls of a grant go: to the sandbox's echo, or to a provider. */
export function chooseRoute(needs: RouteNeeds): (standing: Standing) => Route {
  return memoizeByObject((standing: Standing) =>
    standing.grant.kind === 'sandbox' ? sandboxRoute(needs, standing) : connectionRoute(needs, standing),
  )
}
