/**
 * Which IP addresses are public. All others (this machine, its network, a cloud's metadata service, tunnels that lead back
 * in) are refused; of IPv6 only ranges that are known to be public are allowed.
 */
import { isIPv4, isIPv6 } from 'node:net'

export interface Address {
  family: 4 | 6
  bits: bigint
}

export interface Range {
  address: Address
  prefix: number
}

/** A mapped address (::ffff:10.0.0.1) is treated as IPv4. An address with a zone (fe80::1%eth0) is refused. */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 4, bits: ipv4Bits(text) }
  if (!isIPv6(text) || text.includes('%')) return undefined
  const bits = ipv6Bits(text)
  return bits >> 32n === 0xffffn ? { family: 4, bits: bits & 0xffff_ffffn } : { family: 6, bits }
}

export function contains({ address: start, prefix }: Range, address: Address): boolean {
  const shift = BigInt((start.family === 4 ? 32 : 128) - prefix)
  return start.family === address.family && start.bits >> shift === address.bits >> shift
}

export function parseRange(text: string): Range | undefined {
  const [start = '', length, ...rest] = text.split('/')
  const address = parseAddress(start)
  if (!address || rest.length > 0) return undefined
  const whole = address.family === 4 ? 32 : 128
  if (length === undefined) return { address, prefix: whole }
  // With a mapped address it is unclear whether the prefix counts in IPv4 or IPv6 bits.
  const isMapped = address.family === 4 && start.includes(':')
  // A prefix of 0 would be every address.
  if (isMapped || !/^[1-9]\d{0,2}$/.test(length) || Number(length) > whole) return undefined
  const prefix = Number(length)
  // `10.1.2.3/8` looks like one address but would allow 16 million.
  const isStart = BigInt.asUintN(whole - prefix, address.bits) === 0n
  return isStart ? { address, prefix } : undefined
}

/** Why an address is refused; undefined for a public one. */
export function judgeAddress(text: string): string | undefined {
  const address = parseAddress(text)
  if (!address) return 'no plain address'
  if (address.family === 6 && !contains(globalUnicast, address)) return 'not global unicast'
  return notPublic.find(({ ranges }) => ranges.some((range) => contains(range, address)))?.reason
}

const globalUnicast = known('2000::/3')

/** From the special-purpose registries of IANA (RFC 6890 and its updates), as of 2026. */
const notPublic = Object.entries({
  'this network': ['0.0.0.0/8'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  'shared by carriers': ['100.64.0.0/10'],
  loopback: ['127.0.0.0/8'],
  'link-local': ['169.254.0.0/16'],
  'kept for protocols': ['192.0.0.0/24', '2001::/23'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
  // Azure's platform services, reachable from its virtual machines only.
  "a cloud's own": ['168.63.129.16/32'],
  '6to4': ['192.88.99.0/24', '2002::/16'],
  benchmarking: ['198.18.0.0/15'],
  multicast: ['224.0.0.0/4'],
  reserved: ['240.0.0.0/4'],
}).map(([reason, ranges]) => ({ reason, ranges: ranges.map(known) }))

function known(text: string): Range {
  const range = parseRange(text)
  if (!range) throw new Error(`${text} is no range`)
  return range
}

function ipv4Bits(text: string): bigint {
  return text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
}

function ipv6Bits(text: string): bigint {
  // The URL parser writes an IPv4 tail (::ffff:10.0.0.1) as two groups.
  const [left = '', right] = new URL(`https://[${text}]`).hostname.slice(1, -1).split('::')
  const list = (part: string) => (part === '' ? [] : part.split(':'))
  const gap = right === undefined ? 0 : 8 - list(left).length - list(right).length
  const all = [...list(left), ...Array.from({ length: gap }, () => '0'), ...list(right ?? '')]
  return all.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n)
}
