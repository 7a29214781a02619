import assert from 'node:assert/strict'
import { isIPv6 } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressBlock } from './client-address.ts'

/** One address in two notations must not count as two clients. */
function blocks(narrow: string, wide: string | undefined, addresses: readonly string[]): void {
  for (const address of addresses) assert.deepEqual(addressBlock(address), { narrow, wide }, address)
}

test('an IPv4 address counts by itself', () => {
  blocks('192.0.2.1', undefined, ['192.0.2.1'])
  blocks('0.0.0.0', undefined, ['0.0.0.0'])
})

test('an IPv4-mapped IPv6 address is the same client, in every notation', () => {
  blocks('192.0.2.1', undefined, [
    '::ffff:192.0.2.1',
    '::FFFF:192.0.2.1',
    '::ffff:c000:201',
    '::ffff:C000:0201',
    '0:0:0:0:0:ffff:192.0.2.1',
    '0000:0000:0000:0000:0000:ffff:c000:0201',
    '0::ffff:c000:201',
    '::ffff:192.0.2.1%eth0',
  ])
})

test('an IPv6 address counts by its /64, with a limit for its /48', () => {
  blocks('2001:db8:1:2::/64', '2001:db8:1::/48', [
    '2001:db8:1:2::',
    '2001:db8:1:2::1',
    '2001:db8:1:2:3:4:5:6',
    '2001:DB8:1:2:ffff:ffff:ffff:ffff',
    '2001:0db8:0001:0002:0000:0000:0000:0001',
    '2001:db8:1:2:3:4:192.0.2.1',
    '2001:db8:1:2::192.0.2.1',
    '2001:db8:1:2:3:4:5::',
    '2001:db8:1:2::1%eth0',
  ])
})

test('a compressed run of zeros (::) is expanded in place', () => {
  blocks('0:0:0:0::/64', '0:0:0::/48', ['::', '::1', '0:0:0:0:0:0:0:1', '::192.0.2.1', '0::0'])
  blocks('2001:0:0:0::/64', '2001:0:0::/48', ['2001::', '2001::1', '2001:0:0:0::1', '2001::5:6:7:8'])
  blocks('2001:db8:0:4::/64', '2001:db8:0::/48', ['2001:db8::4:5:6:7:8', '2001:db8:0:4:5:6:7:8'])
  blocks('0:0:0:4::/64', '0:0:0::/48', ['::4:5:6:7:8', '0:0:0:4::8'])
  blocks('0:2:3:4::/64', '0:2:3::/48', ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'])
  blocks('0:0:3:4::/64', '0:0:3::/48', ['::3:4:5:6:1.2.3.4', '::3:4:5:6:102:304'])
})

test('the zone of a link-local address is ignored', () => {
  blocks('fe80:1:2:0::/64', 'fe80:1:2::/48', ['fe80:1:2::4:5:6:7', 'fe80:1:2::4:5:6:7%1', 'fe80:1:2::4:5:6:7%eth0.100'])
  blocks('fe80:0:0:0::/64', 'fe80:0:0::/48', ['fe80::1%en0', 'fe80::1%eth0.1:2', 'fe80::1%a::b'])
})

test('an invalid address is a client of its own and does not throw', () => {
  blocks('unknown', undefined, ['unknown'])
  blocks('', undefined, [''])
  blocks('::ffff:999.0.2.1', undefined, ['::ffff:999.0.2.1'])
})

test('every notation of an address gives the same block', () => {
  const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }))
  const property = fc.property(
    fc.array(group, { minLength: 8, maxLength: 8 }),
    fc.nat(7),
    fc.integer({ min: 1, max: 8 }),
    fc.constantFrom('', '%eth0', '%vlan.7', '%a:b'),
    (groups, from, length, zone) => {
      const full = groups.map((value) => value.toString(16).padStart(4, '0')).join(':')
      const canonical = new URL(`http://[${full}]`).hostname.slice(1, -1)
      const plain = groups.map((value) => value.toString(16))
      const quad = groups.slice(6).flatMap((value) => [value >> 8, value & 0xff])
      const dotted = [...plain.slice(0, 6), quad.join('.')].join(':')
      const isZero = groups.slice(from, from + length).every((value) => value === 0)
      const shortened = isZero
        ? `${plain.slice(0, from).join(':')}::${plain.slice(from + length).join(':')}`
        : canonical
      const expected = addressBlock(full)
      for (const written of [canonical, plain.join(':').toUpperCase(), dotted, shortened]) {
        assert.ok(isIPv6(written), written)
        assert.deepEqual(addressBlock(written + zone), expected, written + zone)
      }
    },
  )
  fc.assert(property, { numRuns: 1000 })
})
