import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const storage = 'storage.googleapis.com'

export const googleCloud: Preset = {
  id: 'google-cloud',
  name: 'Google Cloud',
  otherNames: ['GCP', 'BigQuery'],
  authMethods: [
    {
      kind: 'google_service_account',
      label: 'Service account',
      help: 'In Google Cloud, open IAM & Admin > Service Accounts. Create an account that has only the roles that agents need, and add a key of the type JSON under Keys. The scope https://www.googleapis.com/auth/cloud-platform leaves it to the roles what the account may do.',
    },
  ],
  tokenUrl: 'https://oauth2.googleapis.com/token',
  // Services for data. Those that run code with an account of their own, or give out credentials, are not among them.
  apiHosts: [
    storage,
    'bigquery.googleapis.com',
    'pubsub.googleapis.com',
    'firestore.googleapis.com',
    'logging.googleapis.com',
    'monitoring.googleapis.com',
    'translation.googleapis.com',
    'vision.googleapis.com',
    'language.googleapis.com',
    'speech.googleapis.com',
    'texttospeech.googleapis.com',
  ],
  batchPaths: [{ host: '*.googleapis.com', path: '/batch' }],
  credentialPaths: [
    // Also for hosts that an admin adds: IAM and its keys, assertions and tokens (STS), API keys, Secret Manager.
    { host: '*.googleapis.com', path: '/**/serviceAccounts', methods: writes },
    { host: '*.googleapis.com', path: '/token' },
    { host: '*.googleapis.com', path: '/v1/token' },
    { host: '*.googleapis.com', path: '/v1beta/token' },
    { host: '*.googleapis.com', path: '/**/locations/*/keys' },
    { host: '*.googleapis.com', path: '/**/secrets/*/versions/*:access' },
    { host: '*.googleapis.com', path: '/**/*:setIamPolicy' },
    // The XML API creates HMAC keys at the root, and sets the access policy of a bucket by a query parameter.
    { host: storage, path: '/', isExact: true },
    { host: storage, path: '/*', isExact: true, methods: writes },
    { host: storage, path: '/storage/*/projects/*/hmacKeys' },
    { host: storage, path: '/storage/*/b/*', isExact: true, methods: ['PUT', 'PATCH'] },
    ...['acl', 'defaultObjectAcl', 'notificationConfigs'].map((path) => ({
      ...{ host: storage, path: `/storage/*/b/*/${path}`, methods: writes },
    })),
    { host: storage, path: '/storage/**/iam', methods: writes },
    { host: storage, path: '/storage/*/b/*/o/watch' },
    // Updating a dataset can give people access to it.
    { host: 'bigquery.googleapis.com', path: '/**/datasets/*', isExact: true, methods: ['PUT', 'PATCH'] },
    { host: 'bigquery.googleapis.com', path: '/**/rowAccessPolicies', methods: writes },
    { host: 'bigquery.googleapis.com', path: '/**/rowAccessPolicies:batchDelete' },
    // A subscription can push messages to a URL.
    { host: 'pubsub.googleapis.com', path: '/**/subscriptions/*', isExact: true, methods: ['PUT', 'PATCH'] },
    { host: 'pubsub.googleapis.com', path: '/**/subscriptions/*:modifyPushConfig' },
    { host: 'firestore.googleapis.com', path: '/**/databases/*:exportDocuments' },
    { host: 'firestore.googleapis.com', path: '/**/userCreds' },
    { host: 'firestore.googleapis.com', path: '/**/backupSchedules', methods: writes },
    { host: 'logging.googleapis.com', path: '/**/sinks', methods: writes },
    { host: 'logging.googleapis.com', path: '/**/entries:copy' },
    { host: 'monitoring.googleapis.com', path: '/**/notificationChannels', methods: writes },
    { host: 'monitoring.googleapis.com', path: '/**/uptimeCheckConfigs', methods: writes },
  ],
  access: {
    reads: [
      ...callsAt(
        'firestore.googleapis.com',
        `
        POST /*/projects/*/databases/*/documents:batchGet
        POST /*/projects/*/databases/*/documents:runQuery
        POST /*/projects/*/databases/*/documents:runAggregationQuery
        POST /*/projects/*/databases/*/documents:listCollectionIds
        POST /*/projects/*/databases/*/documents/**/*:runQuery
        POST /*/projects/*/databases/*/documents/**/*:runAggregationQuery
        POST /*/projects/*/databases/*/documents/**/*:listCollectionIds`,
      ),
      ...callsAt(
        'logging.googleapis.com',
        `
        POST /*/entries:list
        POST /*/entries:tail`,
      ),
      ...callsAt('monitoring.googleapis.com', 'POST /*/projects/*/timeSeries:query'),
    ],
    // They can start a transaction that locks what it reads.
    writes: ['batchGet', 'runQuery', 'runAggregationQuery'].map((verb) => ({
      ...{ host: 'firestore.googleapis.com', path: `/**/*:${verb}`, methods: ['POST'] },
      parameter: { in: 'body' as const, name: 'newTransaction' },
    })),
    destructive: [
      { host: storage, path: '/', methods: ['POST'], parameter: { in: 'query', name: 'delete' } },
      ...callsAt('firestore.googleapis.com', 'POST /**/*:bulkDeleteDocuments'),
      ...['commit', 'batchWrite', 'write'].map((verb) => ({
        ...{ host: 'firestore.googleapis.com', path: `/**/documents:${verb}`, methods: ['POST'] },
        parameter: { in: 'body' as const, name: 'delete' },
      })),
      // They drop messages that wait.
      ...callsAt(
        'pubsub.googleapis.com',
        `
        POST /**/subscriptions/*:seek
        POST /**/subscriptions/*:detach`,
      ),
      ...callsAt('vision.googleapis.com', 'POST /**/products:purge'),
    ],
    batches: callsAt('*.googleapis.com', 'POST /batch/**'),
  },
  bodyChecks: ['batch'],
  docs: [
    'https://developers.google.com/identity/protocols/oauth2/service-account',
    'https://cloud.google.com/iam/docs/service-account-creds',
    'https://cloud.google.com/iam/docs/reference/rest',
    'https://cloud.google.com/iam/docs/reference/credentials/rest',
    'https://cloud.google.com/storage/docs/request-endpoints',
    'https://cloud.google.com/storage/docs/json_api/v1',
    'https://cloud.google.com/storage/docs/xml-api/post-hmac-create',
    'https://cloud.google.com/bigquery/docs/reference/rest',
    'https://cloud.google.com/pubsub/docs/reference/rest',
    'https://cloud.google.com/firestore/docs/reference/rest',
    'https://cloud.google.com/logging/docs/reference/v2/rest',
    'https://cloud.google.com/monitoring/api/ref_v3/rest',
    'https://docs.cloud.google.com/bigquery/docs/reference/rest/v2/rowAccessPolicies/batchDelete',
    'https://cloud.google.com/vision/docs/reference/rest/v1/projects.locations.products/purge',
    'https://docs.cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions/detach.md.txt',
    'https://cloud.google.com/firestore/docs/reference/rest/latest/projects.databases.documents/batchGet',
    'https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.timeSeries/query',
  ],
}
