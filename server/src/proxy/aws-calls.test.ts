/** AWS through the proxy: an upstream verifies every signature, and nothing that signs comes back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { recorded } from '../../testkit/audit.ts'
import { adasKeys, roleArn, startAws } from '../../testkit/aws-server.ts'
import type { AwsTest } from '../../testkit/aws-server.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import type { EnteredGrant } from '../../testkit/entered-credentials.ts'

const get = { service: 's3', region: 'us-east-1' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

async function granted(aws: AwsTest, credential: object = adasKeys): Promise<EnteredGrant & { connectionId: string }> {
  const { status, body } = await aws.connect(credential)
  assert.equal(status, 201, JSON.stringify(body))
  const hosts = [aws.upstream.host, aws.upstream.host.replace('localhost', '*.example.com')]
  return { ...(await aws.grantOn(body.connection_id, hosts)), connectionId: body.connection_id }
}

onBothDatabases('an AWS account', (engine) => {
  test('is named by STS, keeps its grants with a new key, and is not connected with keys that AWS refuses', async (t) => {
    const aws = await startAws(t, engine)
    const { connectionId, proxy } = await granted(aws)
    const list = async () => {
      const { body } = await aws.call('GET', '/v4/connections', { token: aws.user.token })
      return body.connections.map(({ account_label }: { account_label: string }) => account_label)
    }
    assert.deepEqual(await list(), ['123456789012 user/ada'])
    const wrong = { ...adasKeys, secret_access_key: 'x'.repeat(40) }
    const refused = await aws.connect(wrong, { label: 'again' })
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'credential_refused'])
    assert.equal(refused.body.error.upstream_status, 403)
    for (const [members, field] of [
      [{ access_key_id: 'short' }, 'credential.access_key_id'],
      [{ role_arn: 'admin' }, 'credential.role_arn'],
      [{ session_token: 'with a blank in it' }, 'credential.session_token'],
    ] as const) {
      const { status, body } = await aws.connect({ ...adasKeys, ...members })
      assert.deepEqual([status, body.error.field], [400, field])
    }
    const next = {
      access_key_id: 'AKIANEXTNEXTNEXTNEXT',
      secret_access_key: 'next/secret+of+ada/0123456789012345678901',
    }
    aws.keys.set(next.access_key_id, {
      ...aws.keys.get(adasKeys.access_key_id),
      secretAccessKey: next.secret_access_key,
    } as never)
    assert.equal((await aws.replace(connectionId, next)).status, 200)
    const { body } = await proxy({ url: aws.urlOf('localhost', '/b/k'), aws: get })
    assert.match(JSON.stringify(body.body), /us-east-1\/s3/)
    aws.keys.set(adasKeys.access_key_id, {
      secretAccessKey: adasKeys.secret_access_key,
      arn: 'arn:aws:iam::999999999999:user/eve',
    })
    assert.equal((await aws.replace(connectionId, adasKeys)).status, 409)
  })

  test('is signed for the host, or for what the caller chooses among its services', async (t) => {
    const aws = await startAws(t, engine)
    const { proxy } = await granted(aws)
    const verified = async (members: object) => {
      const { body } = await proxy(members)
      return body.error?.code ?? (typeof body.body === 'string' ? JSON.parse(body.body) : body.body).verified ?? body
    }
    const at = (path: string) => aws.urlOf('localhost', path)
    assert.equal(await verified({ url: aws.urlOf('eu-west-3.example.com', '/b/k') }), 'eu-west-3/s3')
    assert.equal(await verified({ url: at('/b/k'), aws: { region: 'eu-west-1' } }), 'eu-west-1/s3')
    const put = { method: 'POST', headers: { 'x-amz-target': 'DynamoDB_20120810.PutItem' }, body: { TableName: 't' } }
    assert.equal(await verified({ ...put, url: at('/'), aws: { service: 'dynamodb' } }), 'us-east-1/dynamodb')
    const identity = { method: 'POST', headers: form, body: 'Action=GetCallerIdentity&Version=2011-06-15' }
    const { body } = await proxy({ ...identity, url: at('/'), aws: { service: 'sts' } })
    assert.match(body.body, /user\/ada/)
    assert.equal(await verified({ url: at('/'), aws: { service: 'sts' } }), 'credential_endpoint')
    assert.equal(await verified({ ...put, url: at('/') }), 'missing_field')
    assert.equal(await verified({ ...put, url: at('/'), aws: { service: 'iam' } }), 'invalid_field')
    assert.equal(await verified({ url: aws.urlOf('evil.example.com', '/') }), 'host_not_allowed')
    const assume = { method: 'POST', headers: form, body: 'Action=AssumeRole&Version=2011-06-15' }
    assert.equal(await verified({ ...assume, url: at('/'), aws: { service: 'sts' } }), 'credential_endpoint')
    const before = aws.verdicts.length
    const chunked = { 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD' }
    const chunks = { url: aws.urlOf('eu-west-3.example.com', '/b/k'), method: 'PUT', headers: chunked, body: 'x' }
    assert.equal(await verified(chunks), 'aws_chunk_signing_unsupported')
    assert.equal(aws.verdicts.length, before, 'no request that was refused went out')
    const dry = await proxy({ ...put, url: at('/'), aws: { service: 'dynamodb' }, dry_run: true })
    assert.deepEqual(dry.body.would_inject, { header: 'authorization', value: 'AWS4-HMAC-SHA256 [REDACTED]' })
  })

  test("replaces the caller's own signature, and records neither it nor ours", async (t) => {
    const aws = await startAws(t, engine)
    const { proxy } = await granted(aws)
    const { body } = await proxy({
      url: aws.urlOf('eu-west-1.example.com', '/b/a b+c?X-Amz-Signature=0123456789abcdef0123456789abcdef&versionId=1'),
      method: 'PUT',
      headers: {
        authorization: 'AWS4-HMAC-SHA256 Credential=AKIAOTHER',
        'x-amz-date': '20200101T000000Z',
        'X-Amz-Security-Token': 'another-token',
        'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
        'x-amz-acl': 'private',
      },
      body: 'hello',
    })
    assert.equal(body.status, 200)
    assert.deepEqual(body.dropped_headers.sort(), ['authorization', 'x-amz-date', 'x-amz-security-token'])
    const [sent] = aws.upstream.received.slice(-1)
    assert.equal(sent?.path, '/b/a%20b%2Bc?versionId=1')
    assert.equal(sent.headers['x-amz-security-token'], undefined)
    const written = `${JSON.stringify(await recorded(aws, 'proxy.attempt'))}${aws.log.join('')}`
    for (const secret of [adasKeys.secret_access_key, String(sent.headers.authorization).slice(-64)]) {
      assert.ok(!written.includes(secret))
    }
  })

  test('shows no signature and no token, in any form, place or framing', async (t) => {
    let reflect: (
      authorization: string,
      token: string,
    ) => { headers: Record<string, string>; body: Buffer | string } = () => ({ headers: {}, body: '' })
    const aws = await startAws(t, engine, (response, { headers, path }) => {
      if (!path.startsWith('/reflect')) return false
      const given = reflect(headers.authorization ?? '', String(headers['x-amz-security-token']))
      response.writeHead(403, given.headers).end(given.body)
      return true
    })
    const token = `FwoGZXIvYXdzE${'Aa0+/'.repeat(80)}==`
    const id = 'ASIATEMPORARYKEYS001'
    const secret = 'temporary/secret+of+ada/01234567890123456'
    aws.keys.set(id, {
      secretAccessKey: secret,
      sessionToken: token,
      arn: 'arn:aws:sts::123456789012:assumed-role/r/s1',
    })
    const { proxy } = await granted(aws, { access_key_id: id, secret_access_key: secret, session_token: token })
    const spaced = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '$& ').trim()
    const errorPage = (authorization: string, sessionToken: string) => {
      const signature = authorization.slice(-64)
      const canonical = `PUT\n/reflect\n\nhost:x\nx-amz-security-token:${sessionToken}\n\nhost\n`
      return (
        `<Error><Code>SignatureDoesNotMatch</Code><StringToSign>AWS4-HMAC-SHA256</StringToSign>` +
        `<SignatureProvided>${signature}</SignatureProvided><StringToSignBytes>${spaced(`x${signature}`)}</StringToSignBytes>` +
        `<CanonicalRequest>${canonical}</CanonicalRequest><CanonicalRequestBytes>${spaced(canonical)}</CanonicalRequestBytes></Error>`
      )
    }
    const bytesOf = (authorization: string) => Buffer.from(authorization.slice(-64), 'hex')
    const xml = { 'content-type': 'application/xml' }
    const reflections: Record<string, typeof reflect> = {
      'S3 error page': (a, s) => ({ headers: xml, body: errorPage(a, s) }),
      gzip: (a, s) => ({ headers: { ...xml, 'content-encoding': 'gzip' }, body: gzipSync(errorPage(a, s)) }),
      headers: (a, s) => ({
        headers: { 'x-auth': a, 'x-token': s, 'x-amz-signature': a.slice(-64).toUpperCase() },
        body: '',
      }),
      'bytes of the signature': (a) => ({
        headers: xml,
        body: [bytesOf(a).toString('base64'), [...bytesOf(a)].join(', '), a.slice(-64).replace(/../g, '$&:')].join(
          '\n',
        ),
      }),
      URL: (a, s) => ({
        headers: xml,
        body: `X-Amz-Signature=${a.slice(-64)}&X-Amz-Security-Token=${encodeURIComponent(s)}`,
      }),
    }
    for (const [name, one] of Object.entries(reflections)) {
      for (const stream of [false, true]) {
        reflect = one
        const reply = await proxy({ url: aws.urlOf('eu-west-1.example.com', '/reflect'), stream })
        const [sent] = aws.upstream.received.slice(-1)
        const authorization = String(sent?.headers.authorization)
        assert.ok('signature' in (aws.verdicts.at(-1) ?? {}), name)
        const shown = `${reply.text}\n${JSON.stringify(reply.headers)}`
        for (const form of [
          ...[authorization.slice(-64), spaced(authorization.slice(-64)), bytesOf(authorization).toString('base64')],
          ...[[...bytesOf(authorization)].join(', '), authorization.slice(-64).replace(/../g, '$&:')],
          ...[token, spaced(token), encodeURIComponent(token)],
        ]) {
          const middle = form.slice(12, 48)
          assert.ok(
            !shown.toLowerCase().includes(middle.toLowerCase()),
            `${name}, ${String(stream)}: ${middle}\n${shown}`,
          )
        }
        assert.match(shown, /REDACTED/, name)
      }
    }
  })

  test('is signed again for the region that a redirect leads to, and no further than the grant goes', async (t) => {
    let location = ''
    const aws = await startAws(t, engine, (response, { path, headers }, verdict) => {
      if (!path.startsWith('/moved')) return false
      assert.ok('signature' in verdict)
      response.writeHead(307, { location, 'x-was': headers.authorization }).end()
      return true
    })
    const { proxy } = await granted(aws)
    const move = (to: string, members: object = {}) => {
      location = to
      return proxy({ url: aws.urlOf('us-east-1.example.com', '/moved'), follow_redirects: true, ...members })
    }
    const followed = await move(aws.urlOf('eu-north-1.example.com', '/b/k'))
    assert.match(JSON.stringify(followed.body.body), /eu-north-1\/s3/)
    const signatures = aws.upstream.received.slice(-2).map(({ headers }) => String(headers.authorization).slice(-64))
    assert.equal(new Set(signatures).size, 2)
    for (const to of [aws.urlOf('evil.example.com', '/b/k'), 'https://eu-north-1.example.com/b/k']) {
      assert.equal((await move(to)).body.status, 307, to)
    }
    const fixed = await move(aws.urlOf('eu-north-1.example.com', '/b/k'), { aws: { region: 'us-east-1' } })
    assert.equal(fixed.body.status, 307)
    assert.match(fixed.body.headers['x-was'], /REDACTED/)
  })
})

onBothDatabases('an AWS role', (engine) => {
  test('is assumed with the stored keys, renewed when due, and its keys are stored sealed', async (t) => {
    const aws = await startAws(t, engine)
    const { proxy, connectionId } = await granted(aws, { ...adasKeys, role_arn: roleArn, external_id: 'ours' })
    const [assume] = aws.upstream.received
    assert.match(assume?.body ?? '', /Action=AssumeRole&RoleArn=arn%3Aaws.*ExternalId=ours/)
    const call = async () => {
      const { body } = await proxy({ url: aws.urlOf('eu-west-1.example.com', '/b/k') })
      assert.equal(body.status, 200, JSON.stringify(body))
      return aws.upstream.received.at(-1)?.headers ?? {}
    }
    const first = await call()
    assert.match(String(first.authorization), /Credential=ASIA0+1\//)
    assert.match(String(first['x-amz-security-token']), /temporary/)
    const { body } = await aws.call('GET', '/v4/connections', { token: aws.user.token })
    assert.equal(body.connections[0].account_label, '123456789012 role/agents')
    const row = await aws.database.queries.selectFrom('connections').selectAll().executeTakeFirstOrThrow()
    const stored = JSON.stringify(row, (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    )
    for (const secret of ['temporary', adasKeys.secret_access_key, 'ASIA']) assert.ok(!stored.includes(secret), secret)
    aws.clock.advance(3590)
    assert.match(String((await call()).authorization), /Credential=ASIA0+2\//)
    assert.equal(aws.upstream.received.filter(({ body: sent }) => sent.includes('AssumeRole')).length, 2)
    aws.keys.delete(adasKeys.access_key_id)
    aws.clock.advance(3700)
    const ended = await proxy({ url: aws.urlOf('eu-west-1.example.com', '/b/k') })
    assert.equal(ended.body.error.code, 'connection_needs_reauth')
    assert.equal((await recorded(aws, 'connection.needs_reauth')).length, 1)
    assert.ok(connectionId)
  })
})
