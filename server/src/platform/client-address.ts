import { isIPv6 } from 'node:net'

/** What counts as one client. An IPv6 customer holds a whole /64, and often a /48 of them. */
export interface AddressBlock {
  narrow: string
  wide: string | undefined
}

export function addressBlock(text: string): AddressBlock {
  const address = withoutPort(text)
  if (!isIPv6(address)) return { narrow: address, wide: undefined }
  const groups = expand(address)
  const mapped = /^0:0:0:0:0:ffff:(\w+):(\w+)$/.exec(groups.join(':'))
  if (mapped) return { narrow: dottedQuad(mapped.slice(1)), wide: undefined }
  return { narrow: `${groups.slice(0, 4).join(':')}::/64`, wide: `${groups.slice(0, 3).join(':')}::/48` }
}

/** Some proxies forward the client's port as well, which is another one with every connection. */
function withoutPort(text: string): string {
  const { quad, brackets } = /^(?:(?<quad>[\d.]+):\d+|\[(?<brackets>[^\]]+)\](?::\d+)?)$/.exec(text)?.groups ?? {}
  return quad ?? brackets ?? text
}

/** The eight groups of an IPv6 address, however it was written. */
function expand(address: string): string[] {
  const [bare = ''] = address.split('%')
  const [head = '', tail] = bare.replace(/\d+\.\d+\.\d+\.\d+$/, twoGroups).split('::')
  const groupsOf = (part: string) => (part === '' ? [] : part.split(':'))
  const before = groupsOf(head)
  const after = groupsOf(tail ?? '')
  const zeros = tail === undefined ? [] : Array<string>(8 - before.length - after.length).fill('0')
  return [...before, ...zeros, ...after].map((group) => parseInt(group, 16).toString(16))
}

function twoGroups(quad: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = quad.split('.').map(Number)
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

function dottedQuad(groups: string[]): string {
  const values = groups.map((group) => parseInt(group, 16))
  return values.flatMap((value) => [value >> 8, value & 255]).join('.')
}
