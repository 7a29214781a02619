/** DATABASE_URL may name several hosts, as in libpq: postgres://user@one:5432,two:5432/name. pg takes one. */

/** The URL for each of its hosts, in their order. Throws if one of them is not a valid URL. */
export function urlsOfHosts(text: string): URL[] {
  const [, scheme = '', authority = '', rest = ''] = /^(\w+:\/\/)([^/?#]*)(.*)$/s.exec(text) ?? []
  const hostsAt = authority.lastIndexOf('@') + 1
  const hosts = authority.slice(hostsAt).split(',')
  if (hosts.length > 1 && hosts.includes('')) throw new TypeError('a host in the list is empty')
  return hosts.map((host) => new URL(scheme + authority.slice(0, hostsAt) + host + rest))
}

/** Without credentials, for messages. */
export function nameOfHost({ hostname, port }: URL): string {
  return `${decodeURIComponent(hostname) || 'localhost'}:${port || 5432}`
}

/** The service writes, so it looks for a server that takes writes, and for no other kind. */
export function asksForWritable(text: string): boolean {
  const wanted = new URLSearchParams(/\?([^#]*)/.exec(text)?.[1]).getAll('target_session_attrs')
  return wanted.every((one) => one === 'read-write' || one === 'primary')
}
