/**
 * The decrypted credentials of connections, cached. Each call reads the current version from the database, so a token
 * or client secret that was replaced is never taken from the cache.
 */
import { isRefreshDue } from '../connections/connection.ts'
import type { FreshTokenOf } from '../connections/fresh-token.ts'
import type { StandingConnection, StandingProvider } from '../grants/standing.ts'
import type { Clock } from '../platform/clock.ts'
import { setBounded } from '../platform/cache/memoize.ts'
import { Secret } from '../platform/secret.ts'
import { compileSecrets } from '../redaction/secret-forms.ts'
import type { Credential } from './upstream.ts'

interface Cached {
  version: number
  /** As it was then. */
  provider: StandingProvider
  credential: Credential
}

export type CredentialOf = (
  connection: StandingConnection,
  provider: StandingProvider,
  refused?: number,
) => Credential | Promise<Credential>

export function createCredentials({ freshToken, clock }: { freshToken: FreshTokenOf; clock: Clock }): CredentialOf {
  const cache = new Map<string, Cached>()
  const open = async ({ connectionId }: StandingConnection, provider: StandingProvider, refused?: number) => {
    const { injection } = provider
    const { accessToken, version, secrets } = await freshToken(connectionId, refused)
    const forms = compileSecrets(secrets)
    const credential: Credential = {
      header: { name: injection.name, value: new Secret(`${injection.prefix}${accessToken.reveal()}`) },
      forms,
      newestForms: () => cache.get(connectionId)?.credential.forms ?? forms,
      version,
      wasAwaited: false,
    }
    setBounded(cache, connectionId, { version, provider, credential })
    return { ...credential, wasAwaited: true }
  }
  return (connection, provider, refused) => {
    const known = cache.get(connection.connectionId)
    const isGood = known && isSame(known, connection, provider) && !isRefreshDue(connection, clock(), refused)
    return isGood ? known.credential : open(connection, provider, refused)
  }
}

function isSame({ version, provider: then }: Cached, connection: StandingConnection, now: StandingProvider): boolean {
  return (
    version === connection.version &&
    then.injection.name === now.injection.name &&
    then.injection.prefix === now.injection.prefix &&
    isSameBytes(then.sealedClientSecret, now.sealedClientSecret)
  )
}

function isSameBytes(one: Uint8Array | null, other: Uint8Array | null): boolean {
  return one === null || other === null ? one === other : Buffer.compare(one, other) === 0
}
