import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorCode } from '@sallyport/protocol/errors'
import { ServiceError } from '../errors.ts'
import { createDestinations, parseAllowEntry } from './destinations.ts'
import type { SuppliedBy } from './destinations.ts'
import type { Lookup } from './resolver.ts'

const both = ['operator', 'stranger'] as const

const names: Record<string, string[]> = {
  'public.example': ['93.184.215.14'],
  'inside.example': ['10.0.0.7'],
  'both.example': ['93.184.215.14', '127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'listed.example': ['10.0.0.8'],
}
const lookup: Lookup = async (name) => {
  const addresses = names[name]
  if (!addresses) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  return addresses.map((address) => ({ address }))
}

function verdict(
  text: string,
  suppliedBy: SuppliedBy,
  allow: string[],
  judge: 'judgeUrl' | 'judgePageUrl' = 'judgeUrl',
): ErrorCode | undefined {
  const destinations = createDestinations(allow.map(parseAllowEntry), lookup)
  try {
    destinations[judge](new URL(text), suppliedBy, 'callback_url')
    return undefined
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error))
    assert.equal(error.field, 'callback_url')
    return error.code
  }
}

function allows(who: readonly SuppliedBy[], urls: string[], allow: string[] = []): void {
  for (const url of urls) for (const one of who) assert.equal(verdict(url, one, allow), undefined, `${one} ${url}`)
}

function refuses(code: ErrorCode, who: readonly SuppliedBy[], urls: string[], allow: string[] = []): void {
  for (const url of urls) for (const one of who) assert.equal(verdict(url, one, allow), code, `${one} ${url}`)
}

test('an https URL with a name or a public address is allowed', () => {
  allows(both, ['https://api.example.com/a?b#c', 'https://api.example.com:443', 'https://8.8.8.8/'])
  allows(both, ['https://[2606:4700:4700::1111]/', 'https://xn--bcher-kva.example', 'https://bücher.example'])
})

test('anything but https is refused', () => {
  const urls = ['http://api.example.com', 'ftp://api.example.com', 'file:///etc/passwd', 'data:,x', 'wss://a.example']
  refuses('invalid_url', both, [...urls, 'http://127.0.0.1', 'gopher://a.example', 'javascript:1', 'unix:/run/x.sock'])
  refuses('invalid_url', both, ['http://idp.internal:8443'], ['idp.internal:8443'])
})

test('a user name or password in the URL is refused', () => {
  const urls = [
    'https://me@a.example',
    'https://:word@a.example',
    'https://me:word@127.0.0.1/',
    'https://a.example@[::1]',
  ]
  refuses('invalid_url', both, urls)
})

test('addresses that are not public are refused', () => {
  const ipv4 = ['127.0.0.1', '0.0.0.0', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '169.254.169.254']
  const ipv6 = ['[::1]', '[::]', '[fd00::1]', '[fe80::1]', '[ff02::1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]']
  const mapped = ['[::ffff:127.0.0.1]', '[::ffff:a9fe:a9fe]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]']
  refuses(
    'address_not_allowed',
    both,
    [...ipv4, ...ipv6, ...mapped].map((host) => `https://${host}/`),
  )
})

test('an address in an unusual notation is refused like the plain one', () => {
  const loopback = [
    '0x7f000001',
    '017700000001',
    '2130706433',
    '127.1',
    '127.0.1',
    '0177.0.0.1',
    '0x7f.0x0.0x0.0x1',
    '0',
  ]
  const metadata = [
    '2852039166',
    '0xa9fea9fe',
    '0251.0376.0251.0376',
    '169.254.43518',
    '169.254.169.254.',
    '127.0.0.1.',
  ]
  const lookAlikes = ['１２７.0.0.1', '127。0。0。1', '①②⑦.0.0.1', '%31%32%37.0.0.1', '[0:0:0:0:0:0:0:1]']
  refuses(
    'address_not_allowed',
    both,
    [...loopback, ...metadata, ...lookAlikes].map((host) => `https://${host}/`),
  )
})

test('a host with a trailing dot is refused: it would be an alias of a listed one', () => {
  refuses('invalid_url', both, ['https://localhost./', 'https://api.example.com.', 'https://a.example.:8443'])
  refuses('invalid_url', both, ['https://idp.internal.:8443'], ['idp.internal:8443'])
})

test("the operator's URLs may have any port, strangers' only 443", () => {
  const urls = [
    'https://api.example.com:8443',
    'https://api.example.com:22',
    'https://8.8.8.8:6379',
    'https://a.example:80',
  ]
  allows(['operator'], urls)
  refuses('address_not_allowed', ['stranger'], urls)
})

test('a listed host and port is open to all URLs, and nothing else', () => {
  const allow = ['idp.internal:8443', '10.1.2.3:8443', '[fd00::1]:443', '[::ffff:10.1.2.3]:443']
  allows(both, ['https://idp.internal:8443/x', 'https://IDP.internal:8443', 'https://10.1.2.3:8443'], allow)
  allows(both, ['https://[fd00::1]/', 'https://[FD00:0:0::1]:443', 'https://[::ffff:10.1.2.3]'], allow)
  refuses('address_not_allowed', both, ['https://10.1.2.3', 'https://10.1.2.4:8443', 'https://[fd00::1]:8443'], allow)
  refuses('address_not_allowed', ['stranger'], ['https://idp.internal:8444', 'https://a.idp.internal:8443'], allow)
})

test("a listed range is open to the operator's URLs only", () => {
  const allow = ['10.0.0.0/8', 'fd00::/8', '127.0.0.1']
  const urls = ['https://10.9.9.9', 'https://[fd12::1]', 'https://127.1/', 'https://[::ffff:10.0.0.1]/']
  allows(['operator'], [...urls, 'https://10.9.9.9:8443'], allow)
  refuses('address_not_allowed', ['stranger'], urls, allow)
  refuses('address_not_allowed', both, ['https://127.0.0.2', 'https://[fc00::1]'], allow)
})

test('a refusal names the host and the reason, never the path or query', () => {
  const { judgeUrl } = createDestinations([], lookup)
  assert.throws(
    () => {
      judgeUrl(new URL('https://10.0.0.1/path?token=hush'), 'stranger')
    },
    { detail: '10.0.0.1: private', publicMessage: undefined, field: undefined },
  )
})

test('a page for the browser may be http on loopback if the operator configured and listed it', () => {
  const pages = ['http://127.0.0.1:8788/auth', 'http://localhost:8788/auth', 'http://[::1]:8788/auth']
  const listed = ['127.0.0.1:8788', 'localhost:8788', '[::1]:8788']
  const judged = (url: string, who: SuppliedBy, allow: string[]) => verdict(url, who, allow, 'judgePageUrl')
  for (const page of pages) {
    assert.equal(judged(page, 'operator', listed), undefined, page)
    assert.equal(judged(page, 'stranger', listed), 'invalid_url', page)
    assert.equal(judged(page, 'operator', ['127.0.0.0/8', '::1/128', 'localhost:8789']), 'invalid_url', page)
    assert.equal(verdict(page, 'operator', listed), 'invalid_url', page)
  }
  assert.equal(judged('https://idp.example/auth', 'stranger', []), undefined)
  const elsewhere = ['http://idp.internal:8788/auth', 'http://10.0.0.1:8788/auth', 'http://127.0.0.2:8788/auth']
  for (const page of [...elsewhere, 'http://me@localhost:8788/auth', 'ftp://localhost:8788/auth']) {
    assert.equal(judged(page, 'operator', [...listed, new URL(page).host]), 'invalid_url', page)
  }
  for (const list of [['localhost:80'], ['localhost:443']]) {
    assert.equal(judged('http://localhost/auth', 'operator', list), 'invalid_url')
  }
})

test('a name is checked by all its addresses, and the error names the member', async () => {
  const { judgeName } = createDestinations([{ kind: 'place', host: 'listed.example', port: 443 }], lookup)
  const judge = (host: string) => judgeName(new URL(`https://${host}/`), 'stranger', 'token_url')
  for (const host of ['public.example', 'listed.example', 'nowhere.example']) await judge(host)
  for (const host of ['inside.example', 'both.example', 'metadata.example']) {
    await assert.rejects(judge(host), { code: 'address_not_allowed', field: 'token_url' }, host)
  }
})
