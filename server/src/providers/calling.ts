/** How a provider is called: extra parameters of the authorization request, and how a token is put into a call. */
import { ServiceError } from '../platform/errors.ts'
import { ownParameters } from './endpoints.ts'
import type { Injection } from './provider.ts'

/**
 * Headers for routing and framing, and those that the proxy sets itself. A token in one of them would break the call.
 */
const notForTokens =
  /^(?:host|connection|keep-alive|te|trailer|upgrade|expect|cookie2?|set-cookie2?|range|if-range|forwarded|via|date|origin|referer|user-agent|http2-settings|accept(?:-.*)?|content-.*|transfer-encoding|proxy-.*|x-forwarded-.*|sec-.*)$/

export function readInjection({ in: place, name, prefix }: Injection): Injection {
  return { in: place, name: readInjectedHeader(name, 'injection.name'), prefix }
}

export function readInjectedHeader(name: string, field: string): string {
  const lower = name.toLowerCase()
  if (/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(lower) && !notForTokens.test(lower)) return lower
  throw new ServiceError('invalid_field', { field, message: `"${field}" is a header that cannot carry a token.` })
}

/** They may add parameters to the authorization request, but not replace those that its security depends on. */
export function readAuthorizationParams(params: Readonly<Record<string, string>>): Record<string, string> {
  for (const name of Object.keys(params)) {
    const isOurs = ownParameters.has(name.toLowerCase())
    if (!isOurs && /^[\x21-\x7e]{1,100}$/.test(name)) continue
    const message = isOurs
      ? 'The service sets this authorization parameter itself. Omit it.'
      : 'The name of this authorization parameter is not valid.'
    throw new ServiceError('invalid_field', { field: `authorization_params.${name.slice(0, 100)}`, message })
  }
  return { ...params }
}
