/** Which AWS calls are refused, however they are written, and what the others are signed for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../platform/errors.ts'
import { readSigningEntries } from '../providers/aws/signing-scopes.ts'
import { aws } from '../providers/presets/aws.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import { assertAwsCall } from './aws-call.ts'
import { judgeUrl } from './destination.ts'
import type { JudgedCall } from './policy.ts'
import type { HeaderList } from './upstream.ts'

const preset = readSigningEntries(aws.authMethods[0]?.signs ?? [], aws.apiHosts, 'signs')
const custom = readSigningEntries(
  [
    { host: 'keys.example.com', region: 'auto', service: 'sts' },
    { host: 'both.example.com', region: 'auto', service: 's3' },
    { host: 'both.example.com', region: 'auto', service: 'iam' },
    { host: '*.amazonaws.com', region: 'us-east-1', service: 'anything' },
  ],
  ['*.example.com', '*.amazonaws.com'],
  'signs',
)
const form = 'application/x-www-form-urlencoded; charset=utf-8'
const json = 'application/x-amz-json-1.1'

interface Given {
  headers?: HeaderList
  body?: string
  type?: string
  aws?: JudgedCall['aws']
  entries?: typeof preset
}

/** `allowed`, or the code that the call is refused with. */
function outcome(line: string, { headers = [], body, type, aws: chosen, entries = preset }: Given = {}): string {
  const [method = '', url = ''] = line.split(' ')
  const destination = judgeUrl(url, undefined)
  const all: HeaderList = [...headers, ...(type === undefined ? [] : ([['content-type', type]] as HeaderList))]
  const call = {
    destination,
    method,
    headers: all,
    body: body === undefined ? undefined : Buffer.from(body),
    aws: chosen,
  }
  try {
    assertAwsCall(entries, call, readingsOf(destination.path), [method])
    return 'allowed'
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

function allows(line: string, given?: Given): void {
  assert.equal(outcome(line, given), 'allowed', `${line} ${JSON.stringify(given)}`)
}

function refuses(line: string, given?: Given, code = 'credential_endpoint'): void {
  assert.equal(outcome(line, given), code, `${line} ${JSON.stringify({ ...given, entries: undefined })}`)
}

const post = (service: string) => `POST https://${service}.us-east-1.amazonaws.com/`
const target = (value: string): Given => ({ headers: [['x-amz-target', value]], type: json, body: '{}' })

test('ordinary operations of every protocol are allowed', () => {
  allows('GET https://sts.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15')
  allows(post('sts'), { type: form, body: 'Action=GetCallerIdentity&Version=2011-06-15' })
  allows('GET https://ec2.eu-central-1.amazonaws.com/?Action=DescribeInstances&Version=2016-11-15')
  allows(post('ec2'), { type: form, body: 'Action=RunInstances&ImageId=ami-1' })
  allows(post('dynamodb'), target('DynamoDB_20120810.PutItem'))
  allows(post('logs'), target('Logs_20140328.FilterLogEvents'))
  allows(post('monitoring') + 'service/GraniteServiceVersion20100801/operation/PutMetricData', {
    type: 'application/cbor',
    body: '\u00bf',
  })
  allows(post('sqs'), { ...target('AmazonSQS.SetQueueAttributes'), body: '{"Attributes":{"RedrivePolicy":"{}"}}' })
  allows(post('logs'), target('Logs_20140328.PutRetentionPolicy'))
  allows('POST https://lambda.us-east-1.amazonaws.com/2015-03-31/functions/f/invocations', { body: 'AssumeRole' })
  allows('GET https://lambda.us-east-1.amazonaws.com/2015-03-31/functions/f/policy')
  allows('POST https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse', {
    type: 'application/json',
    body: '{}',
  })
  allows('GET https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08')
  // What an object contains, or is called, is no operation.
  allows('PUT https://b.s3.us-east-1.amazonaws.com/k?x-id=PutObject', { body: 'Action=AssumeRole' })
  allows('PUT https://sts.s3.us-east-1.amazonaws.com/operation/AssumeRole')
  allows('PUT https://b.s3.us-east-1.amazonaws.com/k?acl')
  allows('GET https://b.s3.us-east-1.amazonaws.com/?policy')
  allows(post('dynamodb'), { ...target('DynamoDB_20120810.PutItem'), body: '{"Item":{"action":{"S":"AssumeRole"}}}' })
  allows(post('athena'), { ...target('AmazonAthena.StartQueryExecution'), body: '{"Action":"AssumeRole"}' })
})

test('what issues credentials is refused wherever the operation is named, and however it is spelt', () => {
  for (const action of ['AssumeRole', 'GetSessionToken', 'GetFederationToken', 'AssumeRoleWithSAML', '', 'x']) {
    refuses(post('sts'), { type: form, body: `Action=${action}` })
    refuses(`GET https://sts.eu-west-1.amazonaws.com/?Action=${action}`)
  }
  for (const query of [
    'action=AssumeRole',
    '%41ction=AssumeRole',
    'Action%20=%20Assume%52ole',
    'Action[]=AssumeRole',
  ]) {
    refuses(`GET https://sts.amazonaws.com/?${query}`)
    refuses(`GET https://sts.amazonaws.com/?Action=GetCallerIdentity&${query}`)
    refuses(`GET https://sts.amazonaws.com/?${query};Action=GetCallerIdentity`)
    refuses('POST https://sts.amazonaws.com/?Action=GetCallerIdentity', { type: form, body: query })
    refuses(post('sts'), { type: form, body: `Action=GetCallerIdentity&${query}` })
  }
  const both = `POST https://sts.amazonaws.com/?Action=GetCallerIdentity`
  refuses(both, { type: 'multipart/form-data; boundary=x', body: '--x\r\nname="Action"\r\n\r\nAssumeRole\r\n--x--' })
  refuses(both, { type: json, body: '{"\\u0041ction":"AssumeRole"}' })
  refuses(both, { type: 'text/plain', body: 'Action=AssumeRole' })
  refuses(both, { body: 'Action=AssumeRole' })
  refuses(both, { type: 'application/x-www-form-urlencoded; charset=utf-16', body: 'A\0c\0t\0i\0o\0n\0' })
  refuses(both, { type: form, body: 'gzip', headers: [['content-encoding', 'gzip']] })
  for (const name of ['x-amz-target', 'x_amz_target']) {
    refuses(both, { headers: [[name, 'AWSSecurityTokenServiceV20110615.AssumeRole']] })
    refuses(post('iam').replace('us-east-1.', ''), { headers: [[name, ' X . createaccesskey , x.ListUsers ']] })
  }
  refuses(post('kms'), target('TrentService.createGRANT'))
  refuses(post('kms'), target('TrentService. CreateGrant'))
  refuses(post('ssm') + 'service/AmazonSSM/operation/StartSession')
  refuses(post('athena'), target('AmazonAthena.GetSessionEndpoint'))
  refuses(post('sns'), { type: form, body: 'Action=Subscribe&Protocol=https' })
  refuses(post('ec2'), { type: form, body: 'Action=DescribeInstances&Action=CreateKeyPair' })
})

test('a body that is not what its type says is read as a form too', () => {
  const headers: HeaderList = [['x-amz-target', 'AWSSecurityTokenServiceV20110615.GetCallerIdentity']]
  for (const type of [json, 'application/json', 'application/cbor']) {
    for (const body of [
      'Action=GetSessionToken&Version=2011-06-15',
      '\n&Action=AssumeRole',
      'a=[{&action=AssumeRole',
    ]) {
      refuses('POST https://sts.amazonaws.com/', { headers, type, body })
    }
    allows('POST https://sts.amazonaws.com/', { headers, type, body: 'Action=GetCallerIdentity' })
  }
  const put: HeaderList = [['x-amz-target', 'DynamoDB_20120810.PutItem']]
  const body = '{"Item":{"Url":{"S":"https://example.com/?a=1&Action=AssumeRole"}}}'
  allows('POST https://dynamodb.eu-west-1.amazonaws.com/', { headers: put, type: json, body })
})

test('lasting access is refused: policies, deliveries, identities, keys of machines', () => {
  for (const action of [
    'CreateAccessKey',
    'CreateLoginProfile',
    'AttachUserPolicy',
    'CreateUser',
    'DeleteUserPolicy',
  ]) {
    refuses(`POST https://iam.amazonaws.com/`, { type: form, body: `Action=${action}&Version=2010-05-08` })
  }
  for (const action of ['ImportKeyPair', 'GetPasswordData', 'AssociateIamInstanceProfile']) {
    refuses(`GET https://ec2.us-east-1.amazonaws.com/?Action=${action}`)
  }
  for (const [service, operation] of [
    ['dynamodb', 'DynamoDB_20120810.PutResourcePolicy'],
    ['secretsmanager', 'secretsmanager.PutResourcePolicy'],
    ['logs', 'Logs_20140328.PutSubscriptionFilter'],
    ['ecs', 'AmazonEC2ContainerServiceV20141113.ExecuteCommand'],
    ['ssm', 'AmazonSSM.CreateActivation'],
    ['cloudtrail', 'CloudTrail_20131101.CreateTrail'],
  ]) {
    refuses(post(service ?? ''), target(operation ?? ''))
  }
  refuses(post('sqs'), { ...target('AmazonSQS.SetQueueAttributes'), body: '{"Attributes":{"\\u0050olicy":"{}"}}' })
  refuses(post('sqs'), { type: form, body: 'Action=SetQueueAttributes&Attribute.1.Name=Polic%79&Attribute.1.Value=x' })
  refuses('POST https://lambda.us-east-1.amazonaws.com/2015-03-31/functions/f/policy')
  refuses('POST https://lambda.us-east-1.amazonaws.com/2021-10-31/functions/f/url')
  refuses('PUT https://lambda.us-east-1.amazonaws.com//2021-10-31/./Functions/f/%75rl')
  refuses('PUT https://b.s3.us-east-1.amazonaws.com/?policy')
  refuses('PUT https://b.s3.us-east-1.amazonaws.com/?x=1&notification=')
  refuses('DELETE https://s3.us-east-1.amazonaws.com/b?%70ublicAccessBlock')
  refuses('PUT https://s3.us-east-1.amazonaws.com/b?acl')
  refuses('PUT https://b.s3.us-east-1.amazonaws.com/?acl')
  refuses('GET https://b.s3.us-east-1.amazonaws.com/?session')
})

test('a service counts by its host and by what it is signed for', () => {
  const body = { type: form, body: 'Action=AssumeRole' }
  refuses('POST https://keys.example.com/', { ...body, entries: custom })
  allows('GET https://keys.example.com/?Action=GetCallerIdentity', { entries: custom })
  refuses('POST https://both.example.com/', { ...body, aws: { service: 'iam' }, entries: custom })
  refuses('POST https://both.example.com/?policy', { ...body, aws: { service: 's3' }, entries: custom })
  allows('POST https://both.example.com/', { ...body, aws: { service: 's3' }, entries: custom })
  for (const host of [
    'sts.us-east-1.amazonaws.com',
    'sts-fips.us-east-1.amazonaws.com',
    'portal.sso.us-east-1.amazonaws.com',
    'oidc.us-east-1.amazonaws.com',
    'cognito-identity.us-east-1.amazonaws.com',
  ]) {
    refuses(`POST https://${host}/federation/credentials`, { ...body, entries: custom })
    refuses(`GET https://${host}/federation/credentials`, { entries: custom })
  }
})

test('only hosts that the provider lists are signed, with a region that looks like one', () => {
  const not = (host: string) => {
    refuses(`GET https://${host}/?Action=DescribeInstances`, {}, 'host_not_allowed')
  }
  not('amazonaws.com')
  not('ec2.amazonaws.com')
  not('ec2-1-2-3-4.compute-1.amazonaws.com')
  not('evil.execute-api.us-east-1.amazonaws.com')
  not('evil.us-east-1.elb.amazonaws.com')
  not('ec2.us-east-1.amazonaws.com.evil.example')
  not('evil.ec2.us-east-1.amazonaws.com')
  not('ec2.s3.amazonaws.com.us-east-1.amazonaws.com')
  not('s3.us_east_1.amazonaws.com')
  not('b.s3.evil.amazonaws.com')
  not('s3-website-us-east-1.amazonaws.com')
  not('b.s3-website.us-east-1.amazonaws.com')
  not('ec2.us-east-1.amazonaws.com:8443')
  allows('GET https://ec2.us-gov-west-1.amazonaws.com/?Action=DescribeInstances')
  allows('GET https://a.b.c.s3.dualstack.ap-southeast-5.amazonaws.com/')
  const choice = (chosen: JudgedCall['aws'], code = 'allowed') => {
    const entries = readSigningEntries(
      ['us-east-1/s3', 'us-east-1/dynamodb', 'eu-west-1/s3'].map((scope) => {
        const [region = '', service = ''] = scope.split('/')
        return { host: 'x.example.com', region, service }
      }),
      ['x.example.com'],
      'signs',
    )
    const given = { headers: [['x-amz-target', 'A.PutItem']] as HeaderList, aws: chosen, entries }
    assert.equal(outcome('GET https://x.example.com/', given), code, JSON.stringify(chosen))
  }
  choice(undefined, 'missing_field')
  choice({}, 'invalid_field')
  choice({ region: 'us-east-1' }, 'invalid_field')
  choice({ region: 'us-east-2', service: 's3' }, 'invalid_field')
  choice({ service: 'sts' }, 'invalid_field')
  choice({ service: 'dynamodb' })
  choice({ region: 'eu-west-1' })
})

test('chunks that the caller has signed are refused, chunks without signatures are for S3 alone', () => {
  const marked = (value: string): Given => ({ headers: [['x-amz-content-sha256', value]], body: '' })
  const code = 'aws_chunk_signing_unsupported'
  const s3 = 'PUT https://b.s3.us-east-1.amazonaws.com/k'
  for (const value of [
    'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
    'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER',
    'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD',
    ' streaming-aws4-hmac-sha256-payload',
  ]) {
    refuses(s3, marked(value), code)
  }
  allows(s3, marked('STREAMING-UNSIGNED-PAYLOAD-TRAILER'))
  allows(s3, marked('UNSIGNED-PAYLOAD'))
  const lambda = 'POST https://lambda.us-east-1.amazonaws.com/2015-03-31/functions/f/invocations'
  refuses(lambda, marked('STREAMING-UNSIGNED-PAYLOAD-TRAILER'), code)
})

test('an entry names its region once, in the host or beside it', () => {
  const refused = (entry: { host: string; region?: string; service: string }, field: string) => {
    assert.throws(
      () => readSigningEntries([entry], ['*.example.com'], 'signs'),
      (error) => error instanceof ServiceError && error.field === field,
    )
  }
  refused({ host: 'x.example.com', service: 's3' }, 'signs.0.region')
  refused({ host: 'x.{region}.example.com', region: 'us-east-1', service: 's3' }, 'signs.0.region')
  refused({ host: '{region}.{region}.example.com', service: 's3' }, 'signs.0.region')
  refused({ host: 'x-{region}.example.com', service: 's3' }, 'signs.0.region')
  refused({ host: 'x.{region}.example.org', service: 's3' }, 'signs.0.host')
  refused({ host: '*.*.{region}.example.com', service: 's3' }, 'signs.0.host')
})
