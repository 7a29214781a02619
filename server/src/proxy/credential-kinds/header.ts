import { redacted, Secret } from '../../platform/secret.ts'
import type { Injection } from '../../providers/provider.ts'
import type { Credential, Injects } from '../upstream.ts'

/** Puts a token into one header of every call. */
export function inHeader({ name, prefix }: Pick<Injection, 'name' | 'prefix'>, token: Secret): Credential['apply'] {
  const value = new Secret(`${prefix}${token.reveal()}`)
  return (request) => {
    request.headers = [...request.headers, [name, value.reveal()]]
  }
}

/** What `inHeader` adds, without the token. */
export function headerInjects({ name, prefix }: Pick<Injection, 'name' | 'prefix'>): Injects {
  const shown = { header: name, value: `${prefix}${redacted}` }
  return { headers: [name.toLowerCase().replaceAll('_', '-')], writtenIn: () => [], shownFor: () => shown }
}
