import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contains, judgeAddress, parseAddress, parseRange } from './public-address.ts'

function allows(...addresses: string[]): void {
  for (const address of addresses) assert.equal(judgeAddress(address), undefined, address)
}

function refuses(reason: string, ...addresses: string[]): void {
  for (const address of addresses) assert.equal(judgeAddress(address), reason, address)
}

test('public addresses are allowed, up to the boundaries of refused ranges', () => {
  allows('1.0.0.0', '8.8.8.8', '93.184.216.34', '223.255.255.255', '1.1.1.1')
  allows('9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0')
  allows('169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255', '192.169.0.0')
  allows('191.255.255.255', '192.0.1.0', '192.0.3.0', '192.88.98.255', '192.88.100.0', '198.17.255.255', '198.20.0.0')
  allows('198.51.99.255', '198.51.101.0', '203.0.112.255', '203.0.114.0')
  allows('2606:4700:4700::1111', '2001:4860:4860::8888', '2a00:1450:4001:81b::200e', '2001:200::', '2003::', '3ffe::1')
  allows('2001:db7:ffff::', '2001:db9::', '3fff:1000::')
})

test('loopback, private and link-local addresses are refused', () => {
  refuses('this network', '0.0.0.0', '0.0.0.1', '0.255.255.255')
  refuses('loopback', '127.0.0.1', '127.0.0.0', '127.255.255.255', '127.1.2.3')
  refuses('private', '10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255')
  refuses('shared by carriers', '100.64.0.0', '100.100.100.200', '100.127.255.255')
  refuses('link-local', '169.254.0.0', '169.254.169.254', '169.254.170.2', '169.254.255.255')
})

test('reserved and special-purpose addresses are refused', () => {
  refuses('kept for protocols', '192.0.0.0', '192.0.0.8', '192.0.0.192', '192.0.0.255')
  refuses('documentation', '192.0.2.0', '192.0.2.255', '198.51.100.0', '198.51.100.255', '203.0.113.0', '203.0.113.255')
  refuses('6to4', '192.88.99.0', '192.88.99.1', '192.88.99.255')
  refuses('benchmarking', '198.18.0.0', '198.19.255.255')
  refuses('multicast', '224.0.0.0', '224.0.0.1', '239.255.255.255')
  refuses('reserved', '240.0.0.0', '255.255.255.254', '255.255.255.255')
})

test('only global unicast IPv6 addresses are allowed', () => {
  refuses('not global unicast', '::', '::1', '0:0:0:0:0:0:0:1', '::2', '::7f00:1', '::127.0.0.1', '::8.8.8.8')
  refuses('not global unicast', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '64:ff9b:1:ffff::10.0.0.1')
  refuses('not global unicast', '100::1', '100:0:0:1::1', '200::1', '1fff:ffff::', '4000::', '5f00::1', '8000::1')
  refuses('not global unicast', 'fc00::1', 'fd00:ec2::254', 'fdff::', 'fe80::1', 'febf::1', 'fec0::1', 'feff::1')
  refuses('not global unicast', 'ff02::1', 'ff0e::1', 'FF02::1', '::ffff:0:127.0.0.1', '::fffe:127.0.0.1')
})

test('tunnels and special blocks within global unicast are refused', () => {
  refuses('6to4', '2002::', '2002:7f00:1::', '2002:a9fe:a9fe::1', '2002:808:808::1', '2002:ffff:ffff::')
  refuses('kept for protocols', '2001::', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:2::1', '2001:1ff:ffff::')
  refuses('kept for protocols', '2001:10::1', '2001:1f:ffff::', '2001:20::1', '2001:2f::1', '2001:30::1')
  refuses('documentation', '2001:db8::', '2001:db8:ffff::1', '3fff::', '3fff:fff:ffff::1')
})

test('an IPv4-mapped address is checked as its IPv4 address', () => {
  refuses('loopback', '::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:7f00:0001', '::FFFF:127.0.0.1')
  refuses('link-local', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe')
  refuses('private', '::ffff:10.0.0.1', '::ffff:c0a8:1')
  allows('::ffff:8.8.8.8', '::ffff:808:808')
})

test('public addresses of cloud metadata services are refused', () => {
  refuses("a cloud's own", '168.63.129.16', '::ffff:168.63.129.16')
  allows('168.63.129.15', '168.63.129.17')
})

test('anything but a plain address is refused: zones, odd notations, names, empty text', () => {
  refuses('no plain address', 'fe80::1%eth0', '2606:4700::1%eth0', '::1%lo', '[::1]', '', 'localhost', '8.8.8.8.')
  refuses(
    'no plain address',
    '127.1',
    '0x7f000001',
    '2130706433',
    '017700000001',
    '0177.0.0.1',
    '8.8.8.8:443',
    ' 8.8.8.8',
  )
})

test('a range contains its own addresses, IPv4-mapped ones too, and no others', () => {
  const holds = (range: string, address: string) => {
    const [one, other] = [parseRange(range), parseAddress(address)]
    assert.ok(one && other, `${range} ${address}`)
    return contains(one, other)
  }
  assert.ok(holds('10.0.0.0/8', '10.255.0.1') && !holds('10.0.0.0/8', '11.0.0.0'))
  assert.ok(holds('10.1.2.0/23', '10.1.3.9') && holds('10.0.0.0/8', '::ffff:10.0.0.1'))
  assert.ok(holds('192.168.7.7', '192.168.7.7') && !holds('192.168.7.7', '192.168.7.6'))
  assert.ok(holds('fd00::/8', 'fdff::1') && !holds('fd00::/8', 'fc00::1') && !holds('fd00::/8', '10.0.0.1'))
  assert.ok(holds('::1', '0:0::1') && !holds('::1', '::2') && !holds('10.0.0.0/8', 'a00::'))
  assert.ok(holds('172.16.0.0/12', '172.31.255.255') && !holds('172.16.0.0/12', '172.32.0.0'))
})
