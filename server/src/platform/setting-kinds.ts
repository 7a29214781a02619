/** What a setting can take: each turns its text into a value, or throws a TypeError that says what it takes. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseRange } from './egress/address.ts'
import { parseAllowEntry } from './egress/allow-list.ts'
import type { AllowEntry } from './egress/allow-list.ts'

export function text(value: string): string {
  if (value.trim() === '') throw new TypeError('some text')
  return value
}

export function optional<T>(parse: (value: string) => T): (value: string) => T | undefined {
  return (value) => (value === '' ? undefined : parse(value))
}

export function integer(minimum: number, maximum: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,12}$/.test(value) ? Number(value) : NaN
    if (!(number >= minimum && number <= maximum)) throw new TypeError(`a whole number from ${minimum} to ${maximum}`)
    return number
  }
}

export function oneOf<const C extends readonly string[]>(...choices: C): (value: string) => C[number] {
  return (value) => {
    if (!choices.includes(value)) throw new TypeError(choices.join(', '))
    return value
  }
}

export function addressOrName(value: string): string {
  if (isIP(value) === 0 && !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value))
    throw new TypeError('an IP address or a name')
  return value
}

export function baseUrl(value: string): URL {
  const url = URL.parse(value)
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    throw new TypeError('an http or https URL without a path, such as https://sallyport.example.com')
  }
  return url
}

export function httpsOrigin(value: string): URL {
  const url = URL.parse(value)
  if (url?.protocol !== 'https:' || url.href !== `${url.origin}/`) {
    throw new TypeError('an https URL without a path, such as https://github.example.com')
  }
  return url
}

/** OIDC Discovery §3: https, with neither query nor fragment; a path is common. */
export function issuer(value: string): URL {
  const url = URL.parse(value)
  if (
    url?.protocol !== 'https:' ||
    url.href !== `${url.origin}${url.pathname}` ||
    url.pathname.includes('/.well-known/')
  )
    throw new TypeError('an https URL without query and fragment, such as https://login.example.com/realms/us')
  return url
}

export function flag(value: string): boolean {
  return oneOf('0', '1')(value) === '1'
}

export function origins(value: string): string[] {
  const list = value === '' ? [] : value.split(',').map((entry) => entry.trim())
  if (!list.every((entry) => URL.parse(entry)?.origin === entry)) {
    throw new TypeError('origins such as https://app.example.com, separated by commas')
  }
  return list
}

export function addresses(value: string): string[] {
  const list = value.split(',').map((entry) => entry.trim())
  if (!list.every((entry) => parseRange(entry))) {
    throw new TypeError(
      'IP addresses or CIDR ranges that begin at their first address (10.0.0.0/8), separated by commas',
    )
  }
  return list
}

export function egressAllow(value: string): AllowEntry[] {
  return value === '' ? [] : value.split(',').map((entry) => parseAllowEntry(entry.trim()))
}

/** Read at the start: a file that goes missing later must not change whom the service trusts. */
export function certificates(value: string): { pem: string } {
  try {
    const pem = readFileSync(value, 'utf8')
    const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    if (found.length > 0 && found.every((one) => new X509Certificate(one).ca)) return { pem: found.join('\n') }
  } catch {
    // Told below, with what it takes.
  }
  throw new TypeError('the path of a file that can be read and holds certificates of authorities in PEM')
}
