import type { AccessRows } from './access-rows.ts'

const amz = '@content-type: application/x-amz-json-1.1'

export const forClouds: Record<string, AccessRows> = {
  aws: {
    read: `
      GET https://ec2.eu-west-1.amazonaws.com/?Action=DescribeInstances&Version=2016-11-15
      POST / Action=DescribeInstances&Version=2016-11-15
      POST https://dynamodb.eu-west-1.amazonaws.com/ {"TableName":"t"} ${amz} @X-Amz-Target: DynamoDB_20120810.GetItem
      POST / {"TableName":"t"} ${amz} @X-Amz-Target: DynamoDB_20120810.Query
      POST https://secretsmanager.eu-west-1.amazonaws.com/ {"SecretId":"s"} ${amz} @X-Amz-Target: secretsmanager.GetSecretValue
      POST https://logs.eu-west-1.amazonaws.com/ {"logGroupName":"g"} ${amz} @X-Amz-Target: Logs_20140328.FilterLogEvents
      POST https://cloudtrail.eu-west-1.amazonaws.com/ {} ${amz} @X-Amz-Target: CloudTrail_20131101.LookupEvents
      POST https://monitoring.eu-west-1.amazonaws.com/service/GraniteServiceVersion20100801/operation/ListMetrics @content-type: application/cbor
      GET https://s3.eu-west-1.amazonaws.com/bucket/key
      GET https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions`,
    write: `
      GET https://ec2.eu-west-1.amazonaws.com/?Action=RunInstances&Version=2016-11-15
      GET /?Action=DescribeInstances&Action=RunInstances
      GET /?Version=2016-11-15
      POST / Action=StartInstances&Version=2016-11-15
      PUT /?Action=DescribeInstances
      POST / Action=GetFlowLogsIntegrationTemplate&FlowLogId=f
      POST / Action=GetConsoleScreenshot&InstanceId=i-1&WakeUp=true
      POST https://dynamodb.eu-west-1.amazonaws.com/ {"TableName":"t"} ${amz} @X-Amz-Target: DynamoDB_20120810.PutItem
      POST / {"Statement":"SELECT 1"} ${amz} @X-Amz-Target: DynamoDB_20120810.ExecuteStatement
      POST https://states.eu-west-1.amazonaws.com/ {"activityArn":"a"} ${amz} @X-Amz-Target: AWSStepFunctions.GetActivityTask
      POST https://sqs.eu-west-1.amazonaws.com/ {"QueueUrl":"q"} ${amz} @X-Amz-Target: AmazonSQS.ReceiveMessage
      PUT https://s3.eu-west-1.amazonaws.com/bucket/key
      POST https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/f/invocations {}
      POST https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/f/invocations {} @X-Amz-Target: Foo.ListBars
      GET https://lambda.eu-west-1.amazonaws.com/?Action=CreateThing
      POST https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse {}`,
    destructive: `
      GET https://ec2.eu-west-1.amazonaws.com/?Action=TerminateInstances&Version=2016-11-15
      POST / Action=TerminateInstances&InstanceId.1=i-1
      POST / Action=DescribeInstances&Action=TerminateInstances
      POST / Action=CancelSpotFleetRequests&TerminateInstances=true
      POST https://dynamodb.eu-west-1.amazonaws.com/ {"TableName":"t"} ${amz} @X-Amz-Target: DynamoDB_20120810.DeleteTable
      POST / {"RequestItems":{}} ${amz} @X-Amz-Target: DynamoDB_20120810.BatchWriteItem
      POST https://kms.eu-west-1.amazonaws.com/ {"KeyId":"k"} ${amz} @X-Amz-Target: TrentService.ScheduleKeyDeletion
      POST https://sqs.eu-west-1.amazonaws.com/ {"QueueUrl":"q"} ${amz} @X-Amz-Target: AmazonSQS.PurgeQueue
      DELETE https://s3.eu-west-1.amazonaws.com/bucket/key
      POST https://bucket.s3.eu-west-1.amazonaws.com/?delete <Delete/> @content-type: application/xml
      DELETE https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/f
      GET https://lambda.eu-west-1.amazonaws.com/?Action=DeleteThing`,
  },
  buildkite: {
    read: 'GET https://api.buildkite.com/v2/organizations/o/pipelines',
    write: `
      POST https://api.buildkite.com/v2/organizations/o/pipelines/p/builds {"commit":"HEAD"}
      PUT /v2/organizations/o/pipelines/p/builds/1/cancel`,
    destructive: 'DELETE https://api.buildkite.com/v2/organizations/o/pipelines/p',
  },
  circleci: {
    read: 'GET https://circleci.com/api/v2/project/gh/o/r/pipeline',
    write: `
      POST https://circleci.com/api/v2/project/gh/o/r/pipeline {"branch":"main"}
      POST /api/v2/workflow/1/cancel`,
    destructive: 'DELETE https://circleci.com/api/v2/schedule/1',
  },
  cloudflare: {
    read: `
      GET https://api.cloudflare.com/client/v4/zones
      POST /client/v4/graphql {"query":"{ viewer { zones { zoneTag } } }"}
      POST /client/v4/accounts/a/storage/kv/namespaces/n/bulk/get {"keys":["k"]}
      POST /client/v4/accounts/a/vectorize/v2/indexes/i/query {"vector":[1]}`,
    write: `
      POST https://api.cloudflare.com/client/v4/zones/z/dns_records {"type":"A"}
      POST /client/v4/zones/z/dns_records/batch {"posts":[{"type":"A"}]}
      POST /client/v4/accounts/a/d1/database/d/query {"sql":"DROP TABLE a"}
      POST /client/v4/graphql {"query":"mutation { a }"}
      PUT /client/v4/accounts/a/storage/kv/namespaces/n/bulk []
      POST /client/v4/accounts/a/workers/observability/telemetry/query {"queryId":"q"}
      POST /client/v4/zones/z/purge_cache {"purge_everything":true}`,
    destructive: `
      DELETE https://api.cloudflare.com/client/v4/zones/z
      POST /client/v4/zones/z/dns_records/batch {"deletes":[{"id":"r"}]}
      POST /client/v4/accounts/a/storage/kv/namespaces/n/bulk/delete ["k"]
      POST /client/v4/accounts/a/vectorize/v2/indexes/i/delete_by_ids {"ids":["v"]}
      POST /client/v4/accounts/a/queues/q/purge {}`,
  },
  datadog: {
    read: `
      GET https://api.datadoghq.com/api/v1/monitor
      POST /api/v2/logs/events/search {"filter":{"query":"*"}}
      POST /api/v2/logs/analytics/aggregate {"compute":[]}
      POST https://api.datadoghq.eu/api/v1/logs-queries/list {"query":"*"}
      POST /api/v2/spans/events/search {}
      POST /api/v2/ci/pipelines/events/search {}
      POST /api/v2/query/timeseries {}`,
    write: `
      POST https://api.datadoghq.com/api/v1/monitor {"type":"metric alert"}
      POST /api/v2/series {"series":[]}
      POST /api/v2/other/events/search {}
      POST /api/v1/monitor/1/mute
      GET /api/v1/graph/snapshot?metric_query=a&start=1&end=2`,
    destructive: `
      DELETE https://api.datadoghq.com/api/v1/monitor/1
      POST /api/v1/slo/bulk_delete {"1":["7d"]}
      POST /api/v1/synthetics/tests/delete {"public_ids":["a"]}
      POST /api/v2/deletion/data/logs {}`,
  },
  digitalocean: {
    read: 'GET https://api.digitalocean.com/v2/droplets',
    write: `
      POST https://api.digitalocean.com/v2/droplets {"name":"a"}
      POST /v2/droplets/1/actions {"type":"reboot"}`,
    destructive: `
      DELETE https://api.digitalocean.com/v2/droplets/1
      POST /v2/droplets/1/actions {"type":"rebuild","image":"ubuntu"}
      POST /v2/droplets/1/destroy_with_associated_resources/retry
      POST /v2/registries/r/garbage-collection`,
  },
  'google-cloud': {
    read: `
      GET https://storage.googleapis.com/storage/v1/b/bucket/o
      POST https://firestore.googleapis.com/v1/projects/p/databases/(default)/documents:runQuery {}
      POST /v1/projects/p/databases/(default)/documents:batchGet {"documents":[]}
      POST /v1/projects/p/databases/(default)/documents/users/u:runQuery {}
      POST https://logging.googleapis.com/v2/entries:list {"resourceNames":[]}
      POST https://monitoring.googleapis.com/v3/projects/p/timeSeries:query {"query":"a"}`,
    write: `
      POST https://storage.googleapis.com/upload/storage/v1/b/bucket/o?name=a a @content-type: text/plain
      POST https://bigquery.googleapis.com/bigquery/v2/projects/p/queries {"query":"SELECT 1"}
      POST https://pubsub.googleapis.com/v1/projects/p/topics/t:publish {"messages":[]}
      POST /v1/projects/p/subscriptions/s:pull {"maxMessages":1}
      POST https://firestore.googleapis.com/v1/projects/p/databases/d/documents:commit {"writes":[{"update":{}}]}
      POST /v1/projects/p/databases/d/documents:batchGet {"newTransaction":{"readWrite":{}}}
      POST /v1/projects/p/databases/d/documents/users/u:runQuery {"new_transaction":{}}
      POST https://translation.googleapis.com/v3/projects/p:translateText {}`,
    destructive: `
      DELETE https://storage.googleapis.com/storage/v1/b/bucket/o/a%2Fb
      POST https://storage.googleapis.com/bucket?delete <Delete/> @content-type: application/xml
      DELETE https://bigquery.googleapis.com/bigquery/v2/projects/p/datasets/d
      POST https://firestore.googleapis.com/v1/projects/p/databases/d/documents:commit {"writes":[{"delete":"projects/p"}]}
      POST /v1/projects/p/databases/d:bulkDeleteDocuments {}
      POST https://pubsub.googleapis.com/v1/projects/p/subscriptions/s:seek {"time":"2030-01-01T00:00:00Z"}
      POST /v1/projects/p/subscriptions/s:detach
      POST https://vision.googleapis.com/v1/projects/p/locations/l/products:purge {"force":true}`,
  },
  grafana: {
    read: `
      GET https://acme.grafana.net/api/dashboards/uid/a
      GET /api/datasources/proxy/uid/p/api/v1/query?query=up`,
    write: `
      POST https://acme.grafana.net/api/dashboards/db {"dashboard":{}}
      POST /api/ds/query {"queries":[{"rawSql":"DROP TABLE a"}]}`,
    destructive: `
      DELETE https://acme.grafana.net/api/dashboards/uid/a
      GET /api/snapshots-delete/k
      POST /api/annotations/mass-delete {"dashboardUID":"a"}
      POST /api/datasources/proxy/uid/l/loki/api/v1/delete?query=a`,
  },
  heroku: {
    read: 'GET https://api.heroku.com/apps/a',
    write: `
      PATCH https://api.heroku.com/apps/a {"maintenance":true}
      POST /apps/a/releases {"release":"1"}`,
    destructive: 'DELETE https://api.heroku.com/apps/a',
  },
  hetzner: {
    read: 'GET https://api.hetzner.cloud/v1/servers',
    write: `
      POST https://api.hetzner.cloud/v1/servers {"name":"a"}
      POST /v1/servers/1/actions/reboot`,
    destructive: `
      DELETE https://api.hetzner.cloud/v1/servers/1
      POST /v1/servers/1/actions/rebuild {"image":"debian-13"}
      POST /v1/servers/1/actions/disable_backup
      POST /v1/zones/1/actions/import_zonefile {"zonefile":"a"}
      POST /v1/zones/1/rrsets/www/A/actions/set_records {"records":[]}`,
  },
  netlify: {
    read: 'GET https://api.netlify.com/api/v1/sites',
    write: `
      POST https://api.netlify.com/api/v1/sites/1/deploys {}
      PUT /api/v1/sites/1/disable`,
    destructive: 'DELETE https://api.netlify.com/api/v1/sites/1',
  },
  pagerduty: {
    read: `
      GET https://api.pagerduty.com/incidents
      POST /analytics/metrics/incidents/all {"filters":{}}
      POST /analytics/metrics/incidents/teams/all {"filters":{}}
      POST /analytics/raw/incidents {"filters":{}}`,
    write: `
      POST https://api.pagerduty.com/incidents {"incident":{}}
      POST /analytics/metrics/something/new {"filters":{}}
      PUT /incidents/1 {"incident":{"status":"resolved"}}`,
    destructive: 'DELETE https://api.pagerduty.com/services/1',
  },
  sentry: {
    read: 'GET https://sentry.io/api/0/organizations/o/issues/',
    write: 'PUT https://us.sentry.io/api/0/organizations/o/issues/1/ {"status":"resolved"}',
    destructive: 'DELETE https://sentry.io/api/0/projects/o/p/',
  },
  supabase: {
    read: `
      GET https://ref.supabase.co/rest/v1/todos?select=*
      POST /storage/v1/object/list/bucket {"prefix":""}
      POST /graphql/v1 {"query":"{ todosCollection { edges { node { id } } } }"}`,
    write: `
      POST https://ref.supabase.co/rest/v1/todos {"task":"a"}
      POST /rest/v1/rpc/fn {}
      POST /graphql/v1 {"query":"mutation { insertIntotodosCollection(objects: []) { affectedCount } }"}
      GET /graphql/v1?query=mutation{addTodo}
      GET /functions/v1/fn
      POST /functions/v1/fn {}`,
    destructive: `
      DELETE https://ref.supabase.co/rest/v1/todos?id=eq.1
      POST /storage/v1/bucket/b/empty
      POST /graphql/v1 {"query":"mutation { deleteFromtodosCollection(atMost: 1) { affectedCount } }"}
      POST /storage/v1/vector/DeleteVectors {"keys":["a"]}`,
  },
  vercel: {
    read: 'GET https://api.vercel.com/v9/projects',
    write: `
      POST https://api.vercel.com/v13/deployments {"name":"a"}
      PATCH /v1/edge-config/e/items {"items":[{"operation":"upsert","key":"a"}]}`,
    destructive: `
      DELETE https://api.vercel.com/v9/projects/p
      PATCH /v1/edge-config/e/items {"items":[{"operation":"delete","key":"a"}]}
      POST /v1/edge-cache/dangerously-delete-by-tags {"tags":["a"]}`,
  },
}
