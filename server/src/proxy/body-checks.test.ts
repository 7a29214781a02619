import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { defaultTerms } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import { judgeCall, judgedBy } from '../../testkit/policies.ts'
import type { JudgedRequest } from '../../testkit/policies.ts'
import { bodyChecksFor, maxInspectedBytes, mustBeInspected } from './body-checks.ts'
import { judgeUrl } from './destination.ts'
import { assertHeadMayCall } from './policy.ts'
import type { ProviderRules } from './policy.ts'
import type { HeaderList } from './upstream.ts'

const github = 'https://api.github.com/repos/o/r/issues/1/comments'
const openai = 'https://api.openai.com/v1/files'
const unknown = 'https://api.example.com/things'

const form = 'application/x-www-form-urlencoded'
const json = 'application/json'
const parts = 'multipart/form-data; boundary=b'

interface Head {
  type?: string
  headers?: HeaderList
  isLimited?: boolean
  preset?: string
  signs?: ProviderRules['signs']
}

function isInspected(url: string, { type, headers = [], isLimited = false, preset, signs }: Head = {}): boolean {
  const all: HeaderList = type === undefined ? headers : [['content-type', type], ...headers]
  const grant = { allowedMethods: isLimited ? ['POST'] : null, ...defaultTerms } as unknown as Grant
  const rules = { preset: preset ?? null, signs } as ProviderRules
  const head = { destination: judgeUrl(url, undefined), method: 'POST', headers: all }
  return mustBeInspected(bodyChecksFor(head, grant, rules))
}

test('an ordinary body is not inspected', () => {
  for (const type of [json, parts, 'image/png', 'text/plain', 'application/x-ndjson']) {
    for (const url of [github, openai, unknown, 'https://www.googleapis.com/upload/drive/v3/files']) {
      assert.ok(!isInspected(url, { type }), `${url} ${type}`)
    }
  }
})

test('where a body can override the method, it is inspected if the grant limits methods', () => {
  for (const type of [json, parts, form, 'application/vnd.api+json', undefined]) {
    const head = { ...(type !== undefined && { type }), isLimited: true }
    for (const url of [github, unknown]) assert.ok(isInspected(url, head), `${url} ${type}`)
    assert.equal(isInspected(openai, head), type === form)
    assert.ok(isInspected('https://git.example.com/api/v3/user', { ...head, preset: 'github' }))
    assert.equal(isInspected('https://ai.example.com/v1/files', { ...head, preset: 'openai' }), type === form)
  }
  for (const url of [github, unknown]) assert.ok(!isInspected(url, { type: 'image/png', isLimited: true }))
})

test('what could be a form is inspected for a credential of the caller’s own', () => {
  for (const url of [github, openai, unknown]) assert.ok(isInspected(url, { type: form }))
  for (const type of ['x', ';', 'image/png, application/x-www-form-urlencoded', 'image/png x']) {
    for (const url of [github, unknown]) assert.ok(isInspected(url, { type }), type)
    assert.ok(!isInspected(openai, { type }))
  }
  const twice: HeaderList = [
    ['content-type', 'image/png'],
    ['content_type', form],
  ]
  assert.ok(isInspected(unknown, { headers: twice }))
})

test('GraphQL, batches and queries are inspected', () => {
  const salesforce = 'https://acme.my.salesforce.com/services/data/v60.0'
  for (const url of [
    ...[
      'https://api.github.com/graphql',
      'https://api.linear.app//GraphQL/',
      'https://www.googleapis.com/batch/drive/v3',
    ],
    ...['https://graph.microsoft.com/v1.0/%24batch', `${salesforce}/composite`, `${salesforce}/ui-api/records`],
    `${salesforce}/jobs/ingest`,
  ]) {
    for (const type of [json, 'image/png', 'text/csv']) assert.ok(isInspected(url, { type }), url)
  }
  assert.ok(isInspected('https://git.example.com/api/graphql', { type: json, preset: 'github' }))
  // No field of these gives access to credentials.
  assert.ok(!isInspected('https://api.hubapi.com/collector/graphql', { type: json }))
  assert.ok(!isInspected('https://api.example.com/graphql', { type: json }))
})

test('a body that can name the operation of an AWS call is inspected', () => {
  const signs = [
    { host: '*.amazonaws.com', region: 'us-east-1', service: 'sqs' },
    { host: 's3.amazonaws.com', region: 'us-east-1', service: 's3' },
  ]
  const target = (name: string): HeaderList => [['x-amz-target', name]]
  const amz = 'application/x-amz-json-1.0'
  const sqs = 'https://sqs.us-east-1.amazonaws.com/'
  const only = signs.slice(0, 1)
  assert.ok(isInspected(sqs, { type: form, signs: only }))
  assert.ok(isInspected(sqs, { type: amz, signs: only }))
  assert.ok(!isInspected(sqs, { type: amz, signs: only, headers: target('AmazonSQS.SendMessage') }))
  assert.ok(isInspected(sqs, { type: form, signs: only, headers: target('AmazonSQS.SendMessage') }))
  assert.ok(isInspected(sqs, { type: amz, signs: only, headers: target('AmazonSQS.CreateQueue') }))
  assert.ok(!isInspected('https://s3.amazonaws.com/b/k', { type: form, signs: signs.slice(1) }))
})

test('a form for AWS is judged once it has arrived', () => {
  const sqs = 'https://sqs.us-east-1.amazonaws.com/'
  const signs = [{ host: '*.amazonaws.com', region: 'us-east-1', service: 'sqs' }]
  const headers: HeaderList = [['content-type', form]]
  const head = { destination: judgeUrl(sqs, undefined), method: 'POST', headers }
  const [grant, rules] = judgedBy({ rules: { signs } }, head.destination.host)
  assert.doesNotThrow(() => {
    assertHeadMayCall(grant, rules, head)
  })
  allows(sqs, { headers, rules: { signs }, body: 'Action=SendMessage' })
  for (const body of ['Action=AddPermission', 'a=b', undefined]) {
    assert.throws(
      () => {
        judgeCall(sqs, { headers, rules: { signs }, body })
      },
      { code: 'credential_endpoint' },
    )
  }
})

function allows(url: string, request: JudgedRequest): void {
  assert.doesNotThrow(() => {
    judgeCall(url, request)
  })
}

function refuses(url: string, request: JudgedRequest, message = /1 MiB/): void {
  assert.throws(
    () => {
      judgeCall(url, request)
    },
    (error: { code?: string; publicMessage?: string }) =>
      error.code === 'body_not_inspectable' && message.test(error.publicMessage ?? '1 MiB'),
  )
}

test('a body that must be inspected may have 1 MiB, and others any length', () => {
  const typed = (type: string): HeaderList => [['content-type', type]]
  const long = Buffer.alloc(maxInspectedBytes + 1, 'a')
  allows(github, { headers: typed(json), body: long })
  allows(unknown, { headers: typed(form), body: long.subarray(1) })
  refuses(unknown, { headers: typed(form), body: long })
  refuses(unknown, { body: long }, /Name its type/)
  refuses(github, { headers: typed(json), body: long, terms: { allowedMethods: ['POST'] } })
  refuses('https://api.github.com/graphql', { headers: typed(json), body: long })
  const bomb = gzipSync(Buffer.alloc(100 * maxInspectedBytes))
  refuses('https://api.github.com/graphql', { headers: [...typed(json), ['content-encoding', 'gzip']], body: bomb })
})

test('a body that is not inspected is not even parsed', () => {
  const broken = '{"_method":"DELETE","access_token":"x","query":"mutation{tempCloneToken'
  allows(github, { headers: [['content-type', json]], body: broken })
  allows(openai, { headers: [['content-type', json]], body: broken, terms: { allowedMethods: ['POST'] } })
})

test('a comment that contains a login URL is allowed', () => {
  const text =
    'https://github.com/login/oauth/access_token, /user/keys, tempCloneToken, mutation { createMigrationSource }'
  const body = JSON.stringify({ body: text })
  allows(github, { headers: [['content-type', json]], body })
  allows(github, {
    headers: [['content-type', json]],
    body,
    terms: { allowedMethods: ['POST'], allowedPaths: ['/repos/o/r'] },
  })
})
