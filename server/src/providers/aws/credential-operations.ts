/**
 * AWS operations whose effect outlives the grant, by the rule of `credentialPaths` (presets/preset.ts): they create or
 * show credentials, decide who has access, deliver data elsewhere for good, or export all of it. AWS names operations in
 * four places, so paths alone can't say what a call does. Where one can't be told, the call is refused.
 */
import { compilePath, matchesRule } from '../presets/api-path.ts'
import type { PathRule } from '../presets/api-path.ts'
import type { PathReading } from '../presets/path-readings.ts'
import { writes } from '../presets/preset.ts'

export interface AwsCall {
  /** Every operation that the call could be taken for, in lower case. */
  operations: readonly string[]
  hostname: string
  readings: readonly PathReading[]
  methods: readonly string[]
  queryNames: readonly string[]
  /** Whether the body could name an operation, or an attribute, that was not found. */
  isOpaque: boolean
  /** Whether the call sets an access policy along with other attributes. */
  setsPolicy: () => boolean
}

/** Nothing of theirs is called: they issue credentials. Of STS only what identifies the caller. */
const credentialServices = new Set(
  'sts sso sso-oauth oidc awsssoportal awsssooidc signin cognito-identity rolesanywhere'.split(' '),
)
const allowedOfThem = new Set(['sts:getcalleridentity'])

/** They decide who has access, or create whatever a template says: only reading is allowed. */
const accessServices = new Set(
  'iam organizations account ram sso-directory identitystore cloudformation cloudcontrolapi'.split(' '),
)
const reads = /^(?:get|list|describe|simulate|generate)/

/** Whose operations are named in `Action`, `X-Amz-Target` or the path, never by method and path. */
const rpcServices = new Set([
  ...['autoscaling', 'ce', 'cloudtrail', 'dynamodb', 'ec2', 'ecr', 'ecs', 'elasticloadbalancing', 'events', 'kms'],
  ...['logs', 'monitoring', 'rds', 'secretsmanager', 'sns', 'sqs', 'ssm', 'states', 'athena'],
  ...credentialServices,
  ...accessServices,
])

/** Of any service. `*` stands for any text. */
const lasting = [
  // Credentials, and sessions that are used without ours.
  ...['assumerole*', 'getsessiontoken', 'getfederationtoken', '*authorizationtoken', 'getaccesstoken', 'createsession'],
  ...['startsession', 'resumesession', 'getsessionendpoint', 'executecommand', 'createactivation', 'create*apikey'],
  'getpassworddata',
  ...['createkeypair', 'importkeypair', '*sshpublickey', '*iaminstanceprofile*', 'createvpnconnection'],
  ...['export*clientconfiguration', 'createplatformapplication'],
  // Access for others.
  ...['addpermission', 'addlayerversionpermission', 'putpermission', 'creategrant', 'put*policy', 'set*policy'],
  ...['delete*resourcepolicy', 'modifydocumentpermission', 'modify*permissions', 'createnetworkinterfacepermission'],
  // Deliveries and exports.
  ...['subscribe', 'confirmsubscription', 'putsubscriptionfilter', 'putmetricstream', 'putreplicationconfiguration'],
  ...['createtrail', 'updatetrail', 'createdelivery', 'startexporttask', 'exporttabletopointintime'],
  ...['createexporttask', 'createarchive', 'createconnection', 'createapidestination'],
]
/** Ordinary, although their names are like those above. */
const ordinary = new Set(['putretentionpolicy', 'putlifecyclepolicy', 'putscalingpolicy', 'putimagescanningpolicy'])

/** They have an access policy among other attributes. */
const withPolicy = new Set(
  'setqueueattributes createqueue settopicattributes createtopic createkey replicatekey'.split(' '),
)

const rest: Readonly<Record<string, PathRule[]>> = {
  lambda: [
    { path: '/*/functions/*/policy', methods: writes },
    { path: '/*/functions/*/url', methods: writes },
    { path: '/*/layers/*/versions/*/policy', methods: writes },
    { path: '/*/resource-policy', methods: writes },
  ].map(compilePath),
  codeartifact: [
    { path: '/v1/authorization-token' },
    { path: '/v1/domain/permissions', methods: writes },
    { path: '/v1/repository/permissions', methods: writes },
  ].map(compilePath),
  bedrock: [{ path: '/resource-policy', methods: writes }].map(compilePath),
  apigateway: [{ path: '/apikeys' }, { path: '/v2/apis/*/authorizers', methods: writes }].map(compilePath),
  appsync: [{ path: '/v1/apis/*/apikeys' }].map(compilePath),
  eks: [
    { path: '/clusters/*/access-entries', methods: writes },
    { path: '/clusters/*/pod-identity-associations', methods: writes },
  ].map(compilePath),
}

/** Of a bucket. Sharing one object (`acl`) is ordinary use. */
const lastingOfBuckets = new Set([
  ...['policy', 'notification', 'replication', 'logging', 'inventory', 'analytics'],
  ...['publicaccessblock', 'ownershipcontrols'],
])

/** Whether the operation has to be found in the body if it is not in the head. */
export function isRpcService(service: string): boolean {
  return rpcServices.has(service)
}

/** Whether the operation may set an access policy along with other attributes. */
export function canSetPolicy(operation: string): boolean {
  return withPolicy.has(operation)
}

/** `service`: what the call is signed for, or the name that its host begins with. */
export function isAwsCredentialCall(service: string, call: AwsCall): boolean {
  const { operations, readings, methods } = call
  const isRpc = rpcServices.has(service)
  if (isRpc && (call.isOpaque || operations.length === 0)) return true
  if (credentialServices.has(service)) return operations.some((name) => !allowedOfThem.has(`${service}:${name}`))
  if (accessServices.has(service)) return operations.some((name) => !reads.test(name))
  if (service === 's3' || service === 's3express') return isLastingOfBucket(call)
  if (rest[service]?.some((rule) => matchesRule(rule, readings, methods))) return true
  return operations.some(
    (name) => (isLasting(name) && !ordinary.has(name)) || (canSetPolicy(name) && call.setsPolicy()),
  )
}

function isLasting(name: string): boolean {
  return lasting.some((pattern) => {
    if (!pattern.includes('*')) return pattern === name
    const [first = '', ...more] = pattern.split('*')
    const last = more.pop() ?? ''
    const inner = name.slice(first.length, name.length - last.length)
    const fits = name.length >= first.length + last.length && name.startsWith(first) && name.endsWith(last)
    return fits && more.every((piece) => inner.includes(piece))
  })
}

function isLastingOfBucket({ methods, queryNames, readings, hostname }: AwsCall): boolean {
  if (queryNames.includes('session')) return true
  if (methods.every((method) => ['GET', 'HEAD', 'OPTIONS'].includes(method))) return false
  if (queryNames.some((name) => lastingOfBuckets.has(name))) return true
  const isInHost = /^.+\.s3[.-]/.test(hostname)
  const isOfBucket = readings.some(({ segments }) => segments.length <= (isInHost ? 0 : 1))
  return queryNames.includes('acl') && isOfBucket
}
