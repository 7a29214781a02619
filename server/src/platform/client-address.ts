import { isIPv4, isIPv6 } from 'node:net'

/** What counts as one client. An IPv6 customer holds a whole /64, and often a /48 of them. */
export interface AddressBlock {
  narrow: string
  wide: string | undefined
}

export function addressBlock(address: string): AddressBlock {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined && isIPv4(mapped)) return { narrow: mapped, wide: undefined }
  if (!isIPv6(address)) return { narrow: address, wide: undefined }
  const groups = expand(address)
  return { narrow: `${groups.slice(0, 4).join(':')}::/64`, wide: `${groups.slice(0, 3).join(':')}::/48` }
}

/** The first half of an IPv6 address, group by group. */
function expand(address: string): string[] {
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const groupsOf = (part: string) => (part === '' ? [] : part.split(':'))
  const before = groupsOf(head)
  const after = groupsOf(tail ?? '')
  // A dotted quad at the end stands for two groups.
  const length = before.length + after.length + (address.includes('.') ? 1 : 0)
  const zeros = tail === undefined ? [] : Array<string>(8 - length).fill('0')
  return [...before, ...zeros, ...after].map((group) => parseInt(group, 16).toString(16))
}
