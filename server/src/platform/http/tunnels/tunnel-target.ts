/**
 * What a client asks a proxy for: a host with a port, and the credential that it may use the proxy with. There is one way to
 * write each host, so that no two readers of it can differ.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { Secret } from '../../secret.ts'

export interface TunnelTarget {
  /** In lower case. An IPv6 address is in brackets. */
  host: string
  port: number
}

const hostAndPort = /^([a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::([1-9]\d{0,4}))?$/i

/** Undefined unless the text is `host:port`, or just a host if there is a default port. */
export function readTarget(text: string, defaultPort?: number): TunnelTarget | undefined {
  const [, written = '', digits] = hostAndPort.exec(text) ?? []
  const host = written.toLowerCase()
  const port = digits === undefined ? defaultPort : Number(digits)
  // The parser rewrites what is another spelling of an address (0x7f.1), and takes no empty labels.
  const isNormal = host !== '' && URL.parse(`https://${host}/`)?.hostname === host && !host.endsWith('.')
  return isNormal && port !== undefined && port <= 65_535 ? { host, port } : undefined
}

/** As in a URL: without the port 443. */
export function hostOf({ host, port }: TunnelTarget): string {
  return port === 443 ? host : `${host}:${port}`
}

export function isSameTarget(one: TunnelTarget, other: TunnelTarget | undefined): boolean {
  return one.host === other?.host && one.port === other.port
}

/** The address that a host is, without brackets. Undefined for a name. */
export function addressIn(host: string): string | undefined {
  const text = host.replace(/^\[|\]$/g, '')
  return isIP(text) === 0 ? undefined : text
}

/** Splits a target in absolute form (RFC 9112 §3.2.2). Undefined for any other form. */
export function splitAbsolute(url: string): { scheme: string; authority: string; path: string } | undefined {
  const [, scheme = '', authority = '', path = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([/?][^#]*)?$/i.exec(url) ?? []
  if (scheme === '') return undefined
  return { scheme: scheme.toLowerCase(), authority, path: path.startsWith('/') ? path : `/${path}` }
}

/** Basic with any user name and the key as password, or Bearer. */
export function proxyCredential(request: IncomingMessage): Secret | undefined {
  const given = valuesOf(request, 'proxy-authorization')
  const [, scheme = '', credential = ''] =
    /^(basic|bearer) +([\x21-\x7e]+)$/i.exec(given.length === 1 ? (given[0] ?? '') : '') ?? []
  if (scheme.toLowerCase() === 'bearer') return new Secret(credential)
  const [, password] = /^[^:]*:([^]*)$/.exec(Buffer.from(credential, 'base64').toString('latin1')) ?? []
  return password === undefined ? undefined : new Secret(password)
}

/** Every value of a header, also those that Node drops. */
export function valuesOf({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
}
