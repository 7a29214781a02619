import type { Standing } from '../grants/standing.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { perSecond } from '../platform/limits/rate-limits.ts'
import { bearerInjection } from '../providers/provider.ts'
import { headerInjects, inHeader } from '../proxy/credential-kinds/header.ts'
import type { Route } from '../proxy/upstream.ts'
import { echoUpstream } from './echo.ts'
import { compileSecrets } from '../redaction/secret-forms.ts'
import type { SandboxStore } from './sandbox-store.ts'

interface SandboxRouteNeeds {
  config: Pick<Config, 'baseUrl' | 'sandboxCallsPerSecond' | 'sandboxBurst' | 'sandboxBodyBytes'>
  database: Database
  sandboxes: SandboxStore
}

/** Routes the calls of a sandbox grant through the real proxy pipeline to the echo. */
export function sandboxRoute(
  { config, database, sandboxes }: SandboxRouteNeeds,
  { grant: { agentId, grantId } }: Standing,
): Route {
  return {
    upstream: echoUpstream,
    rules: undefined,
    injects: headerInjects(bearerInjection),
    plainOrigin: config.baseUrl.origin,
    maxBodyBytes: config.sandboxBodyBytes,
    rate: { key: `sandbox-call:${agentId}`, limit: perSecond(config.sandboxCallsPerSecond, config.sandboxBurst) },
    credential: async () => {
      const token = await sandboxes.tokenOf(database.queries, agentId, grantId)
      // Another sandbox has replaced it since the call was authorized.
      if (!token) throw new ServiceError('grant_revoked')
      return { apply: inHeader(bearerInjection, token), forms: compileSecrets([token]), wasAwaited: false }
    },
  }
}
