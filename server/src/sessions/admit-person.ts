/**
 * Finds or creates the user for a person that a provider has identified. A known identity belongs to its user. By
 * e-mail address, a person is linked to a user only if the provider verified the address, an admin set it for that
 * user, and the user has no identity yet. (Users who signed up have an identity from the start, so the address of a
 * user without one was set by an admin.)
 */
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Config } from '../config/config.ts'
import type { Queries } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import type { IdentityStore } from './identity-store.ts'
import { LoginFailed } from './login-failure.ts'
import type { Person } from './login-provider.ts'
import type { User } from './user.ts'
import type { UserStore } from './user-store.ts'

export interface AdmitPersonNeeds {
  config: Pick<Config, 'signup'>
  users: UserStore
  identities: IdentityStore
  audit: AuditWriter
}

/** What the audit log records besides the event itself. */
export interface Occasion {
  at: Date
  requestId: string
  via: string
}

/** A concurrent login took the identity, the user or the address. A retry will find it. */
export class ConcurrentLogin extends Error {}

export async function admitPerson(
  needs: AdmitPersonNeeds,
  tx: Queries,
  person: Person,
  occasion: Occasion,
): Promise<User> {
  const { config, users, identities } = needs
  const known = await identities.findUser(tx, person.issuer, person.subject)
  if (known) return assertActive(known)
  const { verifiedEmail } = person
  const sameEmail = verifiedEmail === undefined ? undefined : await users.findByEmail(tx, verifiedEmail)
  // A disabled user can't get in with another identity either.
  if (sameEmail) assertActive(sameEmail)
  if (sameEmail && !(await identities.hasOne(tx, sameEmail.userId))) return link(needs, tx, sameEmail, person, occasion)
  // A concurrent login of the same person may have linked the identity since the first lookup.
  const meanwhile = sameEmail && (await identities.findUser(tx, person.issuer, person.subject))
  if (meanwhile) return assertActive(meanwhile)
  if (config.signup !== 'open') throw new LoginFailed('not_invited')
  const user = await signUp(needs, tx, person, sameEmail ? null : (verifiedEmail ?? null), occasion)
  return link(needs, tx, user, person, occasion)
}

function assertActive(user: User): User {
  if (user.disabledAt) throw new LoginFailed('user_disabled')
  return user
}

async function link(
  { identities, audit }: AdmitPersonNeeds,
  tx: Queries,
  user: User,
  { issuer, subject }: Person,
  { at, requestId, via }: Occasion,
): Promise<User> {
  const { userId } = user
  if (!(await identities.insert(tx, { issuer, subject, userId, createdAt: at }))) throw new ConcurrentLogin()
  await audit.append(tx, { event: 'identity.linked', at, requestId, userId, detail: { via, issuer, subject } })
  return user
}

async function signUp(
  { users, audit }: AdmitPersonNeeds,
  tx: Queries,
  { name = null }: { name?: string | null | undefined },
  email: string | null,
  { at, requestId, via }: Occasion,
): Promise<User> {
  const user: User = {
    userId: newId('usr', at),
    handle: null,
    name,
    email,
    createdAt: at,
    disabledAt: null,
    requiresDevice: false,
  }
  if (email === null) await users.insert(tx, user)
  else if ((await users.findOrInsert(tx, 'email', user)).userId !== user.userId) throw new ConcurrentLogin()
  await audit.append(tx, { event: 'user.created', at, requestId, userId: user.userId, detail: { via } })
  return user
}
