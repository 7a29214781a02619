/**
 * The decrypted credentials of connections, cached. Each call reads the current version from the database, so a token
 * or client secret that was replaced is never taken from the cache.
 */
import { isRefreshDue } from '../connections/connection.ts'
import type { FreshTokenOf } from '../connections/fresh-token.ts'
import type { StandingConnection, StandingProvider } from '../grants/standing.ts'
import type { Clock } from '../platform/clock.ts'
import { setBounded } from '../platform/cache/memoize.ts'
import type { Secret } from '../platform/secret.ts'
import type { FormMethod } from '../providers/auth-kinds/auth-kind.ts'
import { isFormMethod, isMintedMethod, isPlacedToken, isSigned } from '../providers/auth-kinds/auth-kind.ts'
import { oauth2Method } from '../providers/auth-method.ts'
import type { AuthMethod } from '../providers/auth-method.ts'
import { compileSecrets } from '../redaction/secret-forms.ts'
import { openAws } from './credential-kinds/aws.ts'
import { openEntered } from './credential-kinds/entered.ts'
import type { EnteredNeeds } from './credential-kinds/entered.ts'
import { openOAuth2 } from './credential-kinds/oauth2.ts'
import { openPlacedToken } from './credential-kinds/placed-token.ts'
import type { Credential } from './upstream.ts'

/** A credential that was read from the database. */
export interface OpenedCredential extends Pick<Credential, 'apply'> {
  version: number
  /** The version, if a newer one can be had when an upstream refuses it. */
  renews: number | undefined
  /** Everything to redact from responses. */
  secrets: readonly Secret[]
}

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

interface CredentialNeeds {
  freshToken: FreshTokenOf
  /** Opens what a person has entered. */
  entered: (connectionId: string, method: FormMethod, refused?: number) => Promise<OpenedCredential>
  clock: Clock
}

export function createCredentials({ freshToken, entered, clock }: CredentialNeeds): CredentialOf {
  const cache = new Map<string, Cached>()
  const openKind = ({ connectionId, authMethod }: StandingConnection, provider: StandingProvider, refused?: number) => {
    const method = methodNamed(provider, authMethod)
    if (isFormMethod(method) && (!isMintedMethod(method) || isSigned(method))) {
      return entered(connectionId, method, refused)
    }
    return isPlacedToken(method)
      ? openPlacedToken(freshToken, connectionId, method, refused)
      : openOAuth2(freshToken, connectionId, provider, refused)
  }
  const open = async (connection: StandingConnection, provider: StandingProvider, refused?: number) => {
    const { connectionId } = connection
    const { apply, version, renews, secrets } = await openKind(connection, provider, refused)
    const forms = compileSecrets(secrets)
    const credential: Credential = {
      apply,
      forms,
      newestForms: () => cache.get(connectionId)?.credential.forms ?? forms,
      ...(renews !== undefined && { version: renews }),
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

/** With those that people enter read from the database. */
export function credentialsFor(needs: EnteredNeeds & Pick<CredentialNeeds, 'freshToken'>): CredentialOf {
  const { freshToken, clock } = needs
  const entered: CredentialNeeds['entered'] = (connectionId, method, refused) =>
    isSigned(method) ? openAws(needs, connectionId, method, refused) : openEntered(needs, connectionId, method)
  return createCredentials({ freshToken, entered, clock })
}

/** A provider keeps its methods for life. */
export function methodNamed({ authMethods }: Pick<StandingProvider, 'authMethods'>, name: string): AuthMethod {
  return authMethods.find((method) => method.name === name) ?? oauth2Method
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
