/**
 * AWS as far as the tests need it: it verifies every request (aws-verifier.ts) for the region and service of the host
 * that it came to, answers STS, and says of all else what it verified.
 */
import type { TestContext } from 'node:test'
import type { Engine } from '../src/platform/database/database.ts'
import type { Lookup } from '../src/platform/egress/resolver.ts'
import { verifyAws } from './aws-verifier.ts'
import type { Verdict } from './aws-verifier.ts'
import type { Answer, Received } from './calling.ts'
import { startEntered } from './entered-credentials.ts'
import type { EnteredTest } from './entered-credentials.ts'

export const adasKeys = {
  access_key_id: 'AKIAADAADAADAADAADAA',
  secret_access_key: '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',
}
const adasArn = 'arn:aws:iam::123456789012:user/ada'
export const roleArn = 'arn:aws:iam::123456789012:role/agents'

interface Known {
  secretAccessKey: string
  sessionToken?: string
  arn: string
}

export interface AwsTest extends EnteredTest {
  /** By access key id. */
  keys: Map<string, Known>
  /** Of all requests, in order. */
  verdicts: Verdict[]
  /** How many seconds temporary keys are valid for. */
  lifetimeSeconds: number
  /** `localhost` has S3 and DynamoDB in us-east-1, STS, and S3 in eu-west-1; `REGION.example.com` has S3. */
  urlOf: (hostname: string, path: string) => string
}

const scopesOfLocalhost = ['us-east-1/sts', 'us-east-1/s3', 'us-east-1/dynamodb', 'eu-west-1/s3']

export async function startAws(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  answer?: (...given: [...Parameters<Answer>, verdict: Verdict]) => boolean,
): Promise<AwsTest> {
  const keys = new Map<string, Known>([
    [adasKeys.access_key_id, { secretAccessKey: adasKeys.secret_access_key, arn: adasArn }],
  ])
  const verdicts: Verdict[] = []
  const now = { clock: () => new Date() }
  const settings = { lifetimeSeconds: 3600 }
  const lookup: Lookup = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
  const test = await startEntered(t, engine, {
    methods: (host) => [
      {
        kind: 'aws_sigv4',
        signs: [
          ...scopesOfLocalhost.map((scope) => {
            const [region, service] = scope.split('/')
            return { host, region, service }
          }),
          { host: host.replace('localhost', '{region}.example.com'), service: 's3' },
        ],
      },
    ],
    apiHosts: (host) => [host, host.replace('localhost', '*.example.com')],
    settings: { SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8' },
    lookup,
    answer: (response, request) => {
      const verdict = verify(request, keys, now.clock())
      verdicts.push(verdict)
      if (answer?.(response, request, verdict)) return
      if ('refused' in verdict) {
        response.writeHead(403, { 'content-type': 'text/xml' })
        response.end(`<Error><Code>InvalidClientTokenId</Code><Message>${verdict.refused}</Message></Error>`)
        return
      }
      const action = new URLSearchParams(request.body).get('Action')
      if (serviceOf(request) === 'sts') {
        response.writeHead(200, { 'content-type': 'text/xml' })
        response.end(action === 'AssumeRole' ? assume(request) : identity(keys.get(verdict.accessKeyId)?.arn ?? ''))
        return
      }
      response.end(JSON.stringify({ verified: `${regionOf(request)}/${serviceOf(request)}`, path: request.path }))
    },
  })
  now.clock = test.clock.now
  let roles = 0
  const assume = ({ body }: Received): string => {
    const form = new URLSearchParams(body)
    const id = `ASIA${String(++roles).padStart(16, '0')}`
    const secret = `temporary/secret+${String(roles).padStart(23, '0')}`
    const token = `FwoGZXIvYXdzEtemporary${String(roles).padStart(40, '0')}==`
    keys.set(id, { secretAccessKey: secret, sessionToken: token, arn: form.get('RoleArn') ?? '' })
    const until = new Date(test.clock.now().getTime() + settings.lifetimeSeconds * 1000).toISOString()
    return (
      `<AssumeRoleResponse><AssumeRoleResult><AssumedRoleUser><Arn>${form.get('ExternalId') ?? ''}</Arn></AssumedRoleUser>` +
      `<Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey>` +
      `<SessionToken>${token}</SessionToken><Expiration>${until}</Expiration></Credentials>` +
      '</AssumeRoleResult></AssumeRoleResponse>'
    )
  }
  const [, port = ''] = test.upstream.host.split(':')
  return Object.assign(settings, {
    ...test,
    ...{ keys, verdicts, urlOf: (hostname: string, path: string) => `https://${hostname}:${port}${path}` },
  })
}

function identity(arn: string): string {
  return `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`
}

function verify(request: Received, keys: ReadonlyMap<string, Known>, now: Date): Verdict {
  const arrived = {
    ...{ method: request.method, target: request.path, body: Buffer.from(request.body) },
    headers: Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
  }
  const [hostname = ''] = (request.headers.host ?? '').split(':')
  const scopes = hostname === 'localhost' ? scopesOfLocalhost : [`${hostname.split('.')[0] ?? ''}/s3`]
  const tried = scopes.map((scope) => {
    const [region = '', service = ''] = scope.split('/')
    return verifyAws(arrived, { region, service, now, secretOf: (id) => keys.get(id) })
  })
  const accepted = tried.find((verdict) => 'signature' in verdict)
  return accepted ?? tried.find((one) => 'stringToSign' in one) ?? tried[0] ?? { refused: 'no scope' }
}

function scopeOf({ headers }: Received): string[] {
  return (headers.authorization ?? '').split('/')
}

function regionOf(request: Received): string {
  return scopeOf(request)[2] ?? ''
}

function serviceOf(request: Received): string {
  return scopeOf(request)[3] ?? ''
}
