/** The use case that the proxy calls before every call, on a service under test. */
import { createStores } from '../src/stores.ts'
import { createConnectionStore } from '../src/connections/connection-store.ts'
import { createCredentialStore } from '../src/connections/credential-store.ts'
import { createFormerTokenStore } from '../src/connections/former-token-store.ts'
import { createFreshToken } from '../src/connections/fresh-token.ts'
import type { FreshTokenOf } from '../src/connections/fresh-token.ts'
import { createRefreshStore } from '../src/connections/refresh-store.ts'
import { createRevocationStore } from '../src/connections/revocation-store.ts'
import { createLog } from '../src/platform/operations/log.ts'
import { createOAuth } from '../src/platform/oauth/oauth.ts'
import { createProviderStore } from '../src/providers/provider-store.ts'
import type { TestService } from './service.ts'

export function freshTokenOf({ config, database, vault, egress, clock, log }: TestService): FreshTokenOf {
  const { freshToken } = createFreshToken({
    database,
    egress,
    oauth: createOAuth({ egress }),
    providers: createProviderStore(vault),
    connections: createConnectionStore(vault),
    credentials: createCredentialStore(vault),
    refreshes: createRefreshStore(vault),
    revocations: createRevocationStore(vault),
    formerTokens: createFormerTokenStore(vault),
    audit: createStores({ database, vault, clock: clock.now }).audit,
    clock: clock.now,
    log: createLog(config, { write: (line) => log.push(line) }),
  })
  return freshToken
}
