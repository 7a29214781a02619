/** How a body is encoded: a string as it is, base64 as its bytes, an object as a form if its type says so, else as JSON. */
import { isJsonText } from '../platform/json.ts'
import { ServiceError } from '../platform/errors.ts'
import type { GivenRequest } from './outgoing.ts'
import type { HeaderList } from './upstream.ts'

/** Adds a content type if the caller gave none, except to bytes, whose type is not known. */
export function outgoingBody(given: GivenRequest, headers: HeaderList): Buffer | undefined {
  const { body, bodyBase64 } = given
  if (bodyBase64 !== undefined && body !== undefined) {
    throw invalid('body_base64', '"body" and "body_base64" are both given. Give one of them.')
  }
  if (given.method === 'GET' || given.method === 'HEAD') {
    assertNone(given)
    return undefined
  }
  if (bodyBase64 !== undefined) return fromBase64(bodyBase64)
  if (body === undefined) return undefined
  const type = headers.find(([name]) => name === 'content-type')?.[1]
  if (typeof body === 'string') {
    const bytes = Buffer.from(body)
    if (type === undefined && bytes.length > 0) headers.push(['content-type', typeOfText(bytes)])
    return bytes
  }
  if (type !== undefined && /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) return asForm(body)
  if (type === undefined) headers.push(['content-type', 'application/json'])
  return Buffer.from(JSON.stringify(body))
}

/** A JSON object or array is JSON; any other string is text, as with `fetch`. */
function typeOfText(bytes: Buffer): string {
  const isJson = /^[\t\n\r ]*[[{]/.test(bytes.toString('latin1', 0, 100)) && isJsonText(bytes)
  return isJson ? 'application/json' : 'text/plain;charset=UTF-8'
}

/** RFC 9110 §9.3.1: such a body has no meaning, and a server that ignores it may read it as the next request. */
function assertNone({ method, body, bodyBase64 }: GivenRequest): void {
  const isNone = (body === undefined || body === null || body === '') && (bodyBase64 ?? '') === ''
  if (isNone) return
  throw invalid(bodyBase64 === undefined ? 'body' : 'body_base64', `A ${method} call has no body. Leave it out.`)
}

/** Strict, because Node ignores characters that others don't. */
function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) {
    throw invalid('body_base64', '"body_base64" is not base64 (RFC 4648 §4, with padding and without line breaks).')
  }
  return bytes
}

function asForm(body: unknown): Buffer {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid('body', 'A form is an object. Give its fields as members, or the whole as a string.')
  }
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(body)) {
    if (!Array.isArray(value)) form.append(name, asText(value, `body.${name}`))
    else
      value.forEach((one, index) => {
        form.append(name, asText(one, `body.${name}.${index}`))
      })
  }
  return Buffer.from(form.toString())
}

function asText(value: unknown, field: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw invalid(field.slice(0, 200), 'A field of a form is a text, a number, a truth value, or a list of these.')
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid_field', { field, message })
}
