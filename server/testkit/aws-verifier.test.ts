/** The verifier accepts what AWS has published, and refuses all that differs from it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { s3Examples, s3Vectors, suiteToken, suiteVectors, testSuite } from './aws-vectors.ts'
import { verifyAws } from './aws-verifier.ts'
import type { ArrivedRequest, AwsServer } from './aws-verifier.ts'

function serverOf(suite: typeof testSuite, request: ArrivedRequest): AwsServer {
  const hasToken = request.headers.some(([name]) => name === 'X-Amz-Security-Token')
  const { secretAccessKey } = suite
  return {
    ...suite,
    now: suite.at,
    secretOf: (id) =>
      id === suite.accessKeyId ? { secretAccessKey, ...(hasToken && { sessionToken: suiteToken }) } : undefined,
  }
}

const all = [
  ...suiteVectors.map((vector) => ({ ...vector, suite: testSuite })),
  ...s3Vectors.map((vector) => ({ ...vector, suite: s3Examples })),
]

for (const { name, request, suite } of all) {
  test(`AWS's own request is accepted: ${name}`, () => {
    const verdict = verifyAws(request, serverOf(suite, request))
    assert.ok('signature' in verdict, JSON.stringify(verdict, null, 2))
  })
}

test('a request that was changed, or was signed for elsewhere, is refused', () => {
  for (const { name, request, suite } of all) {
    const server = serverOf(suite, request)
    const with_ = (header: string, value: string): ArrivedRequest => ({
      ...request,
      headers: request.headers.map(([key, old]) => [key, key === header ? value : old]),
    })
    const changed: Record<string, ArrivedRequest> = {
      method: { ...request, method: 'DELETE' },
      path: { ...request, target: `/other${request.target}` },
      query: { ...request, target: `${request.target}${request.target.includes('?') ? '&' : '?'}more=1` },
      body: { ...request, body: Buffer.concat([request.body, Buffer.from('!')]) },
      host: with_('Host', 'other.amazonaws.com'),
      time: with_('X-Amz-Date', '20150830T123601Z'),
      'another x-amz header': { ...request, headers: [...request.headers, ['x-amz-acl', 'public-read']] },
      'a query signature': { ...request, target: `${request.target}?X-Amz-Signature=${'0'.repeat(64)}` },
    }
    for (const [what, one] of Object.entries(changed)) {
      assert.ok('refused' in verifyAws(one, server), `${name}: ${what}`)
    }
    for (const other of [
      { ...server, region: 'eu-west-1' },
      { ...server, service: 'sts' },
      { ...server, now: new Date(suite.at.getTime() + 901_000) },
      { ...server, secretOf: () => ({ secretAccessKey: 'another' }) },
    ]) {
      assert.ok('refused' in verifyAws(request, other), name)
    }
  }
})
