import type { Preset } from './preset.ts'

/** `service.region.amazonaws.com`, signed for the name of the endpoint unless another one is given. */
const regional: [endpoint: string, service?: string][] = [
  ['sts'],
  ['athena'],
  ['autoscaling'],
  ['bedrock'],
  ['bedrock-runtime', 'bedrock'],
  ['cloudtrail'],
  ['dynamodb'],
  ['ec2'],
  ['ecs'],
  ['elasticloadbalancing'],
  ['events'],
  ['kms'],
  ['lambda'],
  ['logs'],
  ['monitoring'],
  ['rds'],
  ['secretsmanager'],
  ['sns'],
  ['sqs'],
  ['ssm'],
  ['states'],
]

/** One endpoint for all regions. */
const worldwide = ['iam', 'sts']
const hostsOfS3 = ['s3', 's3.dualstack', 's3-accesspoint']

export const aws: Preset = {
  id: 'aws',
  name: 'AWS',
  otherNames: ['Amazon Web Services', 'Amazon S3'],
  authMethods: [
    {
      kind: 'aws_sigv4',
      help: 'In IAM, create a user with the permissions that agents need and no others, and an access key for it. Better: give the user nothing but sts:AssumeRole, and enter the ARN of a role with these permissions.',
      members: [
        { name: 'access_key_id', label: 'Access key ID' },
        { name: 'secret_access_key', label: 'Secret access key' },
        { name: 'session_token', label: 'Session token, of temporary keys' },
        { name: 'role_arn', label: 'ARN of a role to assume' },
        { name: 'external_id', label: 'External ID, if the role asks for one' },
      ],
      signs: [
        ...regional.map(([endpoint, service = endpoint]) => ({
          ...{ host: `${endpoint}.{region}.amazonaws.com`, service },
        })),
        ...hostsOfS3.flatMap((name) => [
          { host: `${name}.{region}.amazonaws.com`, service: 's3' },
          { host: `*.${name}.{region}.amazonaws.com`, service: 's3' },
        ]),
        { host: 's3.amazonaws.com', region: 'us-east-1', service: 's3' },
        { host: '*.s3.amazonaws.com', region: 'us-east-1', service: 's3' },
        ...worldwide.map((service) => ({ host: `${service}.amazonaws.com`, region: 'us-east-1', service })),
        { host: 'ce.us-east-1.amazonaws.com', region: 'us-east-1', service: 'ce' },
      ],
      env: ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
    },
  ],
  // Of these only the hosts in `signs`: anyone can have an API or a machine with a name below amazonaws.com.
  apiHosts: ['*.amazonaws.com'],
  credentialPaths: 'by_operation',
  access: {
    // Of S3, whose calls have no names.
    destructive: [
      { host: '*.amazonaws.com', path: '/', methods: ['POST'], parameter: { in: 'query', name: 'delete' } },
    ],
    operations: {
      reads: [
        ...['describe*', 'get*', 'list*', 'batchget*', 'query', 'scan', 'transactgetitems', 'testeventpattern'],
        ...['searchlocalgatewayroutes', 'searchtransitgatewayroutes', 'lookupevents', 'filterlogevents'],
        ...['simulatecustompolicy', 'simulateprincipalpolicy'],
      ],
      // They take a task, which nobody else gets then, store a template in S3, and can press a key to wake a machine.
      writes: ['getactivitytask', 'getflowlogsintegrationtemplate', 'getconsolescreenshot'],
      destructive: [
        ...['delete*', 'batchdelete*', 'terminate*', 'purge*', 'remove*', 'destroy*', 'deregister*'],
        ...['schedulekeydeletion', 'releaseaddress', 'unsubscribe'],
        // They can contain deletions, or terminate all machines of a fleet.
        ...['batchwriteitem', 'transactwriteitems', 'cancelspotfleetrequests'],
      ],
    },
  },
  bodyChecks: ['form_action'],
  errorFormats: [{ format: 's3_xml', service: 's3' }],
  docs: [
    'https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html',
    'https://docs.aws.amazon.com/general/latest/gr/rande.html',
    'https://docs.aws.amazon.com/general/latest/gr/aws-service-information.html',
    'https://docs.aws.amazon.com/general/latest/gr/s3.html',
    'https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html',
    'https://docs.aws.amazon.com/AmazonS3/latest/userguide/dual-stack-endpoints.html',
    'https://docs.aws.amazon.com/general/latest/gr/bedrock.html',
    'https://docs.aws.amazon.com/general/latest/gr/iam-service.html',
    'https://docs.aws.amazon.com/general/latest/gr/sts.html',
    'https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html',
    'https://docs.aws.amazon.com/powershell/latest/reference/items/Get-EC2FlowLogsIntegrationTemplate.html',
    'https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CancelSpotFleetRequests',
    'https://docs.aws.amazon.com/cli/latest/reference/sns/unsubscribe.md',
    'https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-management-event-list.html',
    'https://docs.aws.amazon.com/aws-managed-policy/latest/reference/CloudWatchLogsReadOnlyAccess.html',
    'https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AWSCloudTrail_ReadOnlyAccess.html',
    'https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEventBridgeReadOnlyAccess.html',
    'https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.API.html',
    'https://docs.aws.amazon.com/goto/WebAPI/ec2/GetConsoleScreenshot',
    'https://docs.aws.amazon.com/goto/WebAPI/athena-2017-05-18/GetSessionEndpoint',
  ],
}
