import { parseAddress } from '@sallyport/protocol/public-address'

/** The address block that counts as one client. An IPv6 customer usually has a whole /64, and often a /48. */
export interface AddressBlock {
  narrow: string
  wide: string | undefined
}

export function addressBlock(text: string): AddressBlock {
  const written = withoutPort(text)
  // Drop the zone of a link-local address (fe80::1%eth0).
  const address = parseAddress(written.replace(/%.*/, ''))
  if (!address) return { narrow: written, wide: undefined }
  const { family, bits } = address
  if (family === 4)
    return { narrow: [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.'), wide: undefined }
  const groups = [112n, 96n, 80n, 64n].map((shift) => ((bits >> shift) & 0xffffn).toString(16))
  return { narrow: `${groups.join(':')}::/64`, wide: `${groups.slice(0, 3).join(':')}::/48` }
}

/** Some proxies also forward the client's port, which changes with every connection. */
function withoutPort(text: string): string {
  const { quad, brackets } = /^(?:(?<quad>[\d.]+):\d+|\[(?<brackets>[^\]]+)\](?::\d+)?)$/.exec(text)?.groups ?? {}
  return quad ?? brackets ?? text
}
