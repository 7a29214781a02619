/**
 * Signed requests that AWS has published: from the AWS Signature Version 4 Test Suite (Copyright 2017 Amazon.com, Inc.
 * or its affiliates, Apache License 2.0), and the examples of Amazon S3's documentation ("Signature calculations for
 * the authorization header"). A header's value that continues on the next line is a list.
 */
import type { ArrivedRequest } from './aws-verifier.ts'

interface Vector {
  name: string
  request: ArrivedRequest
}

interface Suite {
  region: string
  service: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  at: Date
}

const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

export const testSuite: Suite = {
  region: 'us-east-1',
  service: 'service',
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  at: new Date('2015-08-30T12:36:00Z'),
}

export const suiteToken =
  'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=='

const unreserved = '-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

type Given = [name: string, line: string, headers: string, signature: string, body?: string]

/** Headers beside host and x-amz-date. */
const ofSuite: Given[] = [
  ['get-vanilla', 'GET /', '', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  ['get-utf8', 'GET /ሴ', '', '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85'],
  ['get-unreserved', `GET /${unreserved}`, '', '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f'],
  [
    'get-header-key-duplicate',
    'GET /',
    'My-Header1:value2\nMy-Header1:value2\nMy-Header1:value1',
    'c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea',
  ],
  [
    'get-header-value-multiline',
    'GET /',
    'My-Header1:value1\n  value2\n     value3',
    'ba17b383a53190154eb5fa66a1b836cc297cc0a3d70a5d00705980573d8ff790',
  ],
  [
    'get-header-value-order',
    'GET /',
    'My-Header1:value4\nMy-Header1:value1\nMy-Header1:value3\nMy-Header1:value2',
    '08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01',
  ],
  [
    'get-header-value-trim',
    'GET /',
    'My-Header1: value1\nMy-Header2: "a   b   c"',
    'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  ],
  [
    'get-vanilla-empty-query-key',
    'GET /?Param1=value1',
    '',
    'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb',
  ],
  [
    'get-vanilla-query-order-key-case',
    'GET /?Param2=value2&Param1=value1',
    '',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'get-vanilla-query-unreserved',
    `GET /?${unreserved}=${unreserved}`,
    '',
    '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197',
  ],
  ['get-vanilla-utf8-query', 'GET /?ሴ=bar', '', '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04'],
  ['get-slash', 'GET //', '', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  ['get-slashes', 'GET //example//', '', '9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84'],
  ['get-space', 'GET /example space/', '', '652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741'],
  [
    'get-relative-relative',
    'GET /example1/example2/../..',
    '',
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  ],
  ['post-vanilla', 'POST /', '', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'post-header-value-case',
    'POST /',
    'My-Header1:VALUE1',
    'cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d',
  ],
  [
    'post-sts-header-before',
    'POST /',
    `X-Amz-Security-Token:${suiteToken}`,
    '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
  ],
  [
    'post-x-www-form-urlencoded',
    'POST /',
    'Content-Type:application/x-www-form-urlencoded',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
    'Param1=value1',
  ],
  [
    'post-x-www-form-urlencoded-parameters',
    'POST /',
    'Content-Type:application/x-www-form-urlencoded; charset=utf8',
    '1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe',
    'Param1=value1',
  ],
]

export const s3Examples: Suite = {
  region: 'us-east-1',
  service: 's3',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  at: new Date('2013-05-24T00:00:00Z'),
}

const ofS3: Given[] = [
  [
    'get an object',
    'GET /test.txt',
    `Range:bytes=0-9\nx-amz-content-sha256:${emptyHash}`,
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'put an object',
    'PUT /test$file.text',
    'Date:Fri, 24 May 2013 00:00:00 GMT\nx-amz-storage-class:REDUCED_REDUNDANCY\n' +
      'x-amz-content-sha256:44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    'Welcome to Amazon S3.',
  ],
  [
    'get the lifecycle of a bucket',
    'GET /?lifecycle',
    `x-amz-content-sha256:${emptyHash}`,
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'list objects',
    'GET /?max-keys=2&prefix=J',
    `x-amz-content-sha256:${emptyHash}`,
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
]

export const suiteVectors: Vector[] = ofSuite.map((given) => vectorOf(testSuite, 'example.amazonaws.com', given))
export const s3Vectors: Vector[] = ofS3.map((given) => vectorOf(s3Examples, 'examplebucket.s3.amazonaws.com', given))

function vectorOf({ region, service, accessKeyId, at }: Suite, host: string, given: Given): Vector {
  const [name, line, lines, signature, body = ''] = given
  const time = at.toISOString().replace(/[:-]|\.\d{3}/g, '')
  const headers: [string, string][] = [
    ['Host', host],
    ['X-Amz-Date', time],
  ]
  for (const text of lines.split('\n').filter((one) => one !== '')) {
    const [, key = '', value = ''] = /^([^ :]+):(.*)$/.exec(text) ?? []
    headers.push(key === '' ? [headers.at(-1)?.[0] ?? '', text.trim()] : [key, value])
  }
  const signed = [...new Set(headers.map(([key]) => key.toLowerCase()))].sort().join(';')
  const scope = `${accessKeyId}/${time.slice(0, 8)}/${region}/${service}/aws4_request`
  const [method = '', ...target] = line.split(' ')
  return {
    name,
    request: {
      method,
      target: Buffer.from(target.join(' ')).toString('latin1'),
      headers: [
        ...headers,
        ['Authorization', `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=${signed}, Signature=${signature}`],
      ],
      body: Buffer.from(body),
    },
  }
}
