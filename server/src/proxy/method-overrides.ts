/** Every method that an upstream could read a call as: its own, and those in method overrides. */
import { ServiceError } from '../platform/errors.ts'
import { findInBody, findInQuery, overridesIn, searchAhead } from './parameters.ts'
import type { BodyKind } from './parameters.ts'
import type { JudgedCall } from './policy.ts'
import type { HeaderList } from './upstream.ts'

/** `isLimited`: the grant limits methods. Throws if the caller sends a credential of its own in a parameter. */
export function possibleMethods(call: JudgedCall, isLimited: boolean): string[] {
  const { method, headers, destination, body } = call
  const query = findInQuery(destination.url.search)
  if (query.credential !== undefined) throw ownCredential('url', query.credential)
  const methods = [method, ...overridesIn(headers), ...query.methods]
  if (!body || body.length === 0) return methods
  const kind = bodyKindToSearch(headers, isLimited)
  if (kind === undefined) return methods
  if (isLimited) assertReadable(headers)
  const inBody = findInBody(body, kind)
  if (inBody.credential !== undefined) throw ownCredential('body', inBody.credential)
  return [...methods, ...inBody.methods]
}

/** Searches a long body in slices ahead of `possibleMethods`, so that the event loop is not blocked. */
export async function searchLongBody(headers: HeaderList, body: Buffer, isLimited: boolean): Promise<void> {
  const kind = bodyKindToSearch(headers, isLimited)
  if (kind !== undefined) await searchAhead(body, kind)
}

/** `isLimited`: the grant limits methods. Undefined: the body is not searched. */
export function bodyKindToSearch(headers: HeaderList, isLimited: boolean): BodyKind | undefined {
  const kind = kindOf(valueOf(headers, 'content-type'))
  return isLimited || kind === 'form' || kind === 'unknown' ? kind : undefined
}

/** Some servers read a body without a valid type as a form. Undefined for types that have no parameters. */
function kindOf(type: string): BodyKind | undefined {
  if (!/^\s*[\w!#$&^.+-]+\/[\w!#$&^.+*-]+/.test(type)) return 'unknown'
  if (/^\s*application\/(?:[\w.+-]+\+)?json|^\s*text\/json/i.test(type)) return 'json'
  if (/^\s*multipart\//i.test(type)) return 'multipart'
  return /^\s*application\/x-www-form-urlencoded/i.test(type) ? 'form' : undefined
}

/** A body that is compressed or in another charset may contain an override that can't be seen here. */
function assertReadable(headers: HeaderList): void {
  const charset = /charset\s*=\s*["']?([^"';\s]*)/i.exec(valueOf(headers, 'content-type'))?.[1] ?? 'utf-8'
  const isPlain = /^(?:utf-?8|us-ascii|iso-8859-1|windows-1252)$/i.test(charset)
  if (isPlain && !isCompressed(headers)) return
  throw new ServiceError('method_not_allowed', {
    field: isPlain ? 'headers.content-encoding' : 'headers.content-type',
    message: 'The grant limits methods, and a body in this encoding could override the method. Send it unencoded.',
  })
}

export function isCompressed(headers: HeaderList): boolean {
  return headers.some(([name, value]) => /^content[-_]encoding$/.test(name) && !isIdentity(value))
}

function isIdentity(encoding: string): boolean {
  return ['', 'identity'].includes(encoding.trim().toLowerCase())
}

function valueOf(headers: HeaderList, wanted: string): string {
  return headers.find(([name]) => name === wanted)?.[1] ?? ''
}

function ownCredential(field: string, name: string): ServiceError {
  return new ServiceError('invalid_field', { field, message: `The service adds the credential. Omit "${name}".` })
}
