/** `api_key` and `basic`: what a person has entered, sent as it is. */
import { secretsIn } from '../../connections/credential.ts'
import type { CredentialStore } from '../../connections/credential-store.ts'
import { liveConnection } from '../../connections/live-connection.ts'
import type { ConnectionStore } from '../../connections/connection-store.ts'
import type { FormerTokenStore } from '../../connections/former-token-store.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { ServiceError } from '../../platform/errors.ts'
import type { Secret } from '../../platform/secret.ts'
import type { FormMethod } from '../../providers/auth-kinds/auth-kind.ts'
import { injectorOf } from '../../providers/injector.ts'
import type { CredentialValues } from '../../providers/injector.ts'
import type { OpenedCredential } from '../credentials.ts'
import type { Injects } from '../upstream.ts'

export interface EnteredNeeds {
  database: Database
  connections: ConnectionStore
  credentials: CredentialStore
  formerTokens: FormerTokenStore
  clock: Clock
}

/** A credential as it is stored, and what must not come back of it. */
export interface ReadCredential {
  values: CredentialValues
  version: number
  secrets: Secret[]
}

export async function openEntered(
  needs: EnteredNeeds,
  connectionId: string,
  method: FormMethod,
): Promise<OpenedCredential> {
  const { values, version, secrets } = await readEntered(needs, connectionId, method)
  const { apply, derived } = injectorOf(method).withValues(values)
  // A person replaces it, so there is no newer one to be had after a 401.
  return { apply, version, renews: undefined, secrets: [...secrets, ...derived] }
}

export async function readEntered(
  needs: EnteredNeeds,
  connectionId: string,
  method: FormMethod,
): Promise<ReadCredential> {
  const { database, credentials, formerTokens, clock } = needs
  const connection = await liveConnection(needs, connectionId)
  const stored = await credentials.valuesOf(database.queries, connection)
  if (!stored) throw new ServiceError('grant_revoked')
  const { values, version } = stored
  const former = await formerTokens.listOf(database.queries, connectionId, clock())
  return { values, version, secrets: [...secretsIn(method, values), ...former] }
}

export function enteredInjects(method: FormMethod): Injects {
  const { headers, writtenIn, shownFor } = injectorOf(method)
  return {
    headers,
    writtenIn,
    shownFor: ({ url }) => {
      const shown = shownFor(url)
      if (!shown) return null
      const { in: where, name, value } = shown
      return where === 'header'
        ? { header: name, value }
        : where === 'query'
          ? { query: name, value }
          : { path: name, value }
    },
  }
}
