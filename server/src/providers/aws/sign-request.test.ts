/** What is signed is what AWS verifies, and what another client signs for the same request. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { suiteToken, testSuite } from '../../../testkit/aws-vectors.ts'
import { verifyAws } from '../../../testkit/aws-verifier.ts'
import { Secret } from '../../platform/secret.ts'
import { signRequest } from './sign-request.ts'
import type { Signable } from './sign-request.ts'

interface Aws4Request {
  [member: string]: unknown
  headers: Record<string, string>
}
const aws4 = createRequire(import.meta.url)('aws4') as {
  sign: (request: Aws4Request, keys: Record<string, string>) => { headers: Record<string, string> }
}

const now = new Date('2026-11-18T12:00:00Z')

async function signed(text: string, service: string, more: Partial<Signable> = {}, sessionToken?: string) {
  const { accessKeyId, secretAccessKey } = testSuite
  const request: Signable = { method: 'GET', url: new URL(text), headers: [], body: undefined, ...more }
  const keys = {
    ...{ accessKeyId, secretAccessKey: new Secret(secretAccessKey) },
    sessionToken: sessionToken === undefined ? undefined : new Secret(sessionToken),
  }
  const [signature] = await signRequest(request, keys, { region: 'eu-west-1', service }, now)
  const { url, headers, method, body = Buffer.alloc(0) } = request
  const target = `${url.pathname}${url.search}`
  const arrived = { method, target, headers: [...headers, ['host', url.host] as [string, string]], body }
  const known = { secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  const verdict = verifyAws(arrived, { region: 'eu-west-1', service, now, secretOf: () => known })
  return { request, target, verdict, signature: signature?.reveal() }
}

/** As the AWS SDKs write it. */
function strictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

function byAws4(path: string, service: string, headers: Record<string, string>, body?: string): string | undefined {
  const { accessKeyId, secretAccessKey } = testSuite
  const { authorization = '', ...rest } = headers
  assert.notEqual(authorization, '')
  const request = {
    ...{ service, region: 'eu-west-1', method: body === undefined ? 'GET' : 'POST', path, body },
    ...{ headers: rest, extraHeadersToIgnore: { 'content-length': true } },
  }
  const result = aws4.sign(request, { accessKeyId, secretAccessKey })
  return /Signature=(\w+)/.exec(result.headers['Authorization'] ?? '')?.[1]
}

const keyNames = [
  'plain.txt',
  'with space.txt',
  'ünïcödé ☃ 漢字.txt',
  'double//slash',
  'plus+plus',
  'star*(paren)!and\'quote"',
  'per%cent %41 %2F',
  'colon:at@equals=and&comma,semicolon;dollar$',
  '~tilde-_.',
  'folder/',
]

test('any name of an object in S3 is signed as AWS and another client do, however the caller has encoded it', async () => {
  for (const name of keyNames) {
    const bySdk = name.split('/').map(strictly).join('/')
    const writings = [bySdk, name.split('/').map(encodeURIComponent).join('/'), encodeURI(name)]
    for (const written of writings) {
      const { target, request, verdict, signature } = await signed(
        `https://b.s3.eu-west-1.amazonaws.com/${written}`,
        's3',
      )
      assert.equal(target, `/${bySdk}`)
      assert.ok('signature' in verdict, `${name}: ${JSON.stringify(verdict)}`)
      const headers = { ...Object.fromEntries(request.headers), host: request.url.host }
      assert.equal(byAws4(`/${bySdk}`, 's3', headers), signature, name)
    }
  }
})

test('other services get their path encoded twice and normalized, and the query in one spelling', async () => {
  const paths = [
    '/2015-03-31/functions/arn:aws:lambda:eu-west-1:123456789012:function:f/invocations',
    '/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fa.b-v1%3A0/invoke',
    '/a b/ü',
    '/?Action=DescribeInstances&Filter.1.Name=tag:Name&Filter.1.Value.1=a+b%20c*&Version=2016-11-15&Empty',
    '/?z=1&a=2&A=3&%C3%BC=%E2%98%83&q=%2B',
  ]
  for (const path of paths) {
    const { target, request, verdict, signature } = await signed(`https://x.eu-west-1.amazonaws.com${path}`, 'lambda')
    assert.ok('signature' in verdict, `${path}: ${JSON.stringify(verdict)}`)
    const headers = { ...Object.fromEntries(request.headers), host: request.url.host }
    assert.equal(byAws4(target, 'lambda', headers), signature, path)
    assert.ok(!/[+*:!'()]/.test(target), target)
  }
  const twice = await signed('https://x.eu-west-1.amazonaws.com//a//?v=2&v=1', 'lambda')
  assert.ok('signature' in twice.verdict)
  const body = Buffer.from('Action=ListQueues&Version=2012-11-05')
  const headers: [string, string][] = [
    ['content-type', 'application/x-www-form-urlencoded'],
    ['x-amz-meta-n', ' a   b '],
  ]
  const posted = await signed('https://sqs.eu-west-1.amazonaws.com/', 'sqs', { method: 'POST', headers, body })
  assert.ok('signature' in posted.verdict, JSON.stringify(posted.verdict))
  const given = { ...Object.fromEntries(posted.request.headers), host: posted.request.url.host }
  assert.equal(byAws4('/', 'sqs', given, body.toString()), posted.signature)
})

test("a long body, a session token and a header that isn't ASCII are signed too", async () => {
  const body = Buffer.alloc(200_000, 'x')
  const headers: [string, string][] = [['x-amz-meta-name', Buffer.from('grün').toString('latin1')]]
  const { verdict, request } = await signed(
    'https://b.s3.eu-west-1.amazonaws.com/k',
    's3',
    { method: 'PUT', body, headers },
    suiteToken,
  )
  assert.ok('signature' in verdict, JSON.stringify(verdict))
  assert.equal(Object.fromEntries(request.headers)['x-amz-security-token'], suiteToken)
})

test("the caller's own date, token, hash and presigned parameters are replaced or dropped", async () => {
  const { request, target, verdict } = await signed(
    'https://b.s3.eu-west-1.amazonaws.com/k?X-Amz-Signature=00&x-amz-Credential=a&X%2DAmz-Security-Token=t&versionId=3&acl',
    's3',
    {
      headers: [
        ['authorization', 'AWS4-HMAC-SHA256 Credential=mine'],
        ['x-amz-date', '20200101T000000Z'],
        ['date', 'Wed, 01 Jan 2020 00:00:00 GMT'],
        ['x-amz-security-token', 'mine'],
        ['x-amz-content-sha256', 'UNSIGNED-PAYLOAD'],
        ['x-amz-storage-class', 'STANDARD'],
      ],
    },
  )
  assert.ok('signature' in verdict, JSON.stringify(verdict))
  assert.equal(target, '/k?versionId=3&acl')
  const names = request.headers.map(([name]) => name)
  assert.deepEqual(names.sort(), ['authorization', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-storage-class'])
  assert.ok(!JSON.stringify(request.headers).includes('mine'))
})

test('chunks without signatures keep their marker, and a query with too many parameters is refused', async () => {
  const marker = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
  const chunked = await signed('https://b.s3.eu-west-1.amazonaws.com/k', 's3', {
    method: 'PUT',
    headers: [['x-amz-content-sha256', marker]],
    body: Buffer.from('5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n'),
  })
  assert.ok('signature' in chunked.verdict)
  const many = Array.from({ length: 251 }, (_, index) => `p${String(index)}`).join('&')
  await assert.rejects(signed(`https://b.s3.eu-west-1.amazonaws.com/?${many}`, 's3'), { code: 'invalid_url' })
  const odd = await signed('https://b.s3.eu-west-1.amazonaws.com/%ff%zz?%ff=%zz&&=x', 's3')
  assert.ok(odd.signature)
  // Unusual names are no members of an object.
  await signed('https://b.s3.eu-west-1.amazonaws.com/?__proto__=1&constructor=2', 's3')
})
