/** Every method that a call could be taken for: its own, and those by which it says that it is another one. */
import { ServiceError } from '../platform/errors.ts'
import { meantByBody, meantByQuery, overridesIn, searchAhead } from './parameters.ts'
import type { BodyKind } from './parameters.ts'
import type { JudgedCall } from './policy.ts'
import type { HeaderList } from './upstream.ts'

/** `isLimited` says whether it matters which methods they are. A credential of the caller's own is refused on the way. */
export function meantMethods(call: JudgedCall, isLimited: boolean): string[] {
  const { method, headers, destination, body } = call
  const query = meantByQuery(destination.url.search)
  if (query.credential !== undefined) throw ownCredential('url', query.credential)
  const methods = [method, ...overridesIn(headers), ...query.methods]
  const kind = searchedAs(call, isLimited)
  if (!body || kind === undefined) return methods
  if (isLimited) assertReadable(headers)
  const inBody = meantByBody(body, kind)
  if (inBody.credential !== undefined) throw ownCredential('body', inBody.credential)
  return [...methods, ...inBody.methods]
}

/** To be called before a call with a long body is judged, so that nobody waits for it to be searched. */
export async function searchLongBody(call: Pick<JudgedCall, 'headers' | 'body'>, isLimited: boolean): Promise<void> {
  const kind = searchedAs(call, isLimited)
  if (call.body && kind !== undefined) await searchAhead(call.body, kind)
}

function searchedAs({ headers, body }: Pick<JudgedCall, 'headers' | 'body'>, isLimited: boolean): BodyKind | undefined {
  if (!body || body.length === 0) return undefined
  const kind = kindOf(valueOf(headers, 'content-type'))
  return isLimited || kind === 'form' || kind === 'unknown' ? kind : undefined
}

/** Without a type, or with what is none, some servers take a body for a form. Undefined for types without parameters. */
function kindOf(type: string): BodyKind | undefined {
  if (!/^\s*[\w!#$&^.+-]+\/[\w!#$&^.+*-]+/.test(type)) return 'unknown'
  if (/^\s*application\/(?:[\w.+-]+\+)?json|^\s*text\/json/i.test(type)) return 'json'
  if (/^\s*multipart\//i.test(type)) return 'multipart'
  return /^\s*application\/x-www-form-urlencoded/i.test(type) ? 'form' : undefined
}

/** A body that is compressed, or written in another alphabet, may hold a method that nobody here can see. */
function assertReadable(headers: HeaderList): void {
  const charset = /charset\s*=\s*["']?([^"';\s]*)/i.exec(valueOf(headers, 'content-type'))?.[1] ?? 'utf-8'
  const isPlain = /^(?:utf-?8|us-ascii|iso-8859-1|windows-1252)$/i.test(charset)
  if (isPlain && !isCompressed(headers)) return
  throw new ServiceError('method_not_allowed', {
    field: isPlain ? 'headers.content-encoding' : 'headers.content-type',
    message: 'The grant limits methods, and a body in this encoding could name another one. Send it plainly.',
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
  return new ServiceError('invalid_field', { field, message: `The credential is put in here. Leave "${name}" out.` })
}
