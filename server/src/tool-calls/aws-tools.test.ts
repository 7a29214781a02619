/** AWS's tools sign with keys that are placeholders. Their scope is kept, and nothing else of their signature. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adasKeys, startAws } from '../../testkit/aws-server.ts'
import type { AwsTest } from '../../testkit/aws-server.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { makeKey, openTunnel } from '../../testkit/tool-calling.ts'

type Scope = Parameters<typeof openTunnel>[0]

/** A tunnel to a host of the account, with a key for this many grants. */
async function opened(t: Scope, aws: AwsTest, hostname: string, { credential = adasKeys, grants = 1 } = {}) {
  const { status, body } = await aws.connect(credential)
  assert.equal(status, 201, JSON.stringify(body))
  const agent = await aws.registerAgent()
  const { host } = new URL(aws.urlOf(hostname, '/'))
  const places = { agentId: agent.agentId, userId: aws.user.userId, connectionId: body.connection_id as string }
  const grantIds: string[] = []
  while (grantIds.length < grants) grantIds.push((await insertGrant(aws, { ...places, allowedHosts: [host] })).grantId)
  const calling = { service: aws, agent, upstream: aws.upstream, grantId: grantIds[0] } as unknown as Calling
  const { key } = await makeKey(calling, grantIds)
  const send = await openTunnel(t, calling, { key, host, version: 'HTTP/1.1' })
  return { send, grantIds }
}

const signature = (keyId: string, scope: string) => ({
  authorization:
    `AWS4-HMAC-SHA256 Credential=${keyId}/20261119/${scope}/aws4_request, ` +
    `SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`,
  'x-amz-date': '20261119T000000Z',
  'x-amz-security-token': 'a-placeholder-too',
})

onBothDatabases('a tool of AWS', (engine) => {
  test('names its grant as the access key, and is signed for the scope that it chose', async (t) => {
    const aws = await startAws(t, engine)
    const { send, grantIds } = await opened(t, aws, 'localhost', { grants: 2 })
    const keyId = `sp_grant_${grantIds[1] ?? ''}`
    const get = async (scope: string, id = keyId) => {
      const { text } = await send('/b/k', { headers: signature(id, scope) })
      const body = JSON.parse(text) as { verified?: string; error: { code: string } }
      return body.verified ?? body.error.code
    }
    assert.equal(await get('us-east-1/s3'), 'us-east-1/s3')
    assert.equal(await get('eu-west-1/s3'), 'eu-west-1/s3')
    assert.equal(await get('eu-west-9/s3'), 'invalid_field')
    assert.equal(await get('us-east-1/s3', 'AKIAPLACEHOLDER'), 'grant_ambiguous')
    const target = { 'x-amz-target': 'DynamoDB_20120810.PutItem', 'content-type': 'application/x-amz-json-1.0' }
    const headers = { ...signature(keyId, 'us-east-1/dynamodb'), ...target }
    const put = await send('/', { method: 'POST', headers, body: '{"TableName":"t"}' })
    assert.equal(JSON.parse(put.text).verified, 'us-east-1/dynamodb')
    const sent = JSON.stringify(aws.upstream.received.slice(-3).map((one) => one.headers))
    assert.ok(!sent.includes('a-placeholder-too') && !sent.includes('0'.repeat(64)) && !sent.includes('sp_grant'))
    const attempts = await aws.call('GET', '/v4/audit', { token: aws.user.token })
    assert.deepEqual(
      new Set(
        (attempts.body.records as { event: string; grant_id: string }[])
          .filter(({ event }) => event === 'proxy.attempt')
          .map(({ grant_id }) => grant_id),
      ),
      new Set([grantIds[1]]),
    )
  })

  test('streams a body to S3, unsigned or with checksums, and no signed chunks', async (t) => {
    const aws = await startAws(t, engine)
    const { send } = await opened(t, aws, 'eu-west-3.example.com')
    const put = (content: string, body = 'hello') =>
      send('/b/k', {
        method: 'PUT',
        headers: {
          ...signature('AKIA', 'eu-west-3/s3'),
          'x-amz-content-sha256': content,
          'content-type': 'application/octet-stream',
          'content-length': String(body.length),
        },
        body,
      })
    assert.equal((await put('UNSIGNED-PAYLOAD')).status, 200)
    const { headers, body } = aws.upstream.received.at(-1) ?? assert.fail()
    assert.deepEqual(
      [headers['content-length'], body, headers['x-amz-content-sha256']],
      ['5', 'hello', 'UNSIGNED-PAYLOAD'],
    )
    assert.equal((await put('STREAMING-UNSIGNED-PAYLOAD-TRAILER')).status, 200)
    const before = aws.verdicts.length
    const refused = await put('STREAMING-AWS4-HMAC-SHA256-PAYLOAD')
    assert.deepEqual([refused.status, refused.headers['x-sallyport-error']], [400, 'aws_chunk_signing_unsupported'])
    assert.equal(aws.verdicts.length, before)
  })

  test('may ask for a part of an object, unless a session token is sent along', async (t) => {
    const aws = await startAws(t, engine)
    const range = { ...signature('AKIA', 'eu-west-3/s3'), range: 'bytes=0-1' }
    const { send } = await opened(t, aws, 'eu-west-3.example.com')
    assert.equal((await send('/b/k', { headers: range })).status, 200)
    assert.equal(aws.upstream.received.at(-1)?.headers.range, 'bytes=0-1')
    const temporary = {
      ...{ access_key_id: 'ASIATEMPTEMPTEMPTEMP', secret_access_key: 'temporary/secret+of+ada/01234567890123456' },
      session_token: 'a-session-token-of-ada-0123456789-0123456789',
    }
    aws.keys.set(temporary.access_key_id, {
      ...{ secretAccessKey: temporary.secret_access_key, sessionToken: temporary.session_token },
      arn: 'arn:aws:iam::210987654321:user/temporary',
    })
    const other = await opened(t, aws, 'eu-west-3.example.com', { credential: temporary })
    const { verdicts } = aws
    const before = verdicts.length
    const refused = await other.send('/b/k', { headers: range })
    assert.deepEqual([refused.status, refused.headers['x-sallyport-error']], [416, 'range_not_supported'])
    assert.equal(verdicts.length, before)
  })
})
