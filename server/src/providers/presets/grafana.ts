import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = '*.grafana.net'

export const grafana: Preset = {
  id: 'grafana',
  name: 'Grafana',
  authMethods: [
    {
      kind: 'api_key',
      help: 'In Grafana Cloud, open Administration, Users and access, Service accounts, and add a token to an account with the role Viewer or Editor. The stack is the first part of its address.',
      members: [
        { name: 'stack', label: 'Stack', host: '{stack}.grafana.net' },
        { name: 'api_key', label: 'Service account token' },
      ],
      inject: [bearer],
      check: { url: 'https://{stack}.grafana.net/api/org', account: { id: 'id', labels: ['name'] } },
      env: ['GRAFANA_SERVICE_ACCOUNT_TOKEN'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/login' },
    { host, path: '/api/serviceaccounts' },
    { host, path: '/apis/iam.grafana.app' },
    { host, path: '/apis/secret.grafana.app' },
    { host, path: '/apis/provisioning.grafana.app', methods: writes },
    { host, path: '/api/cloudmigration' },
    { host, path: '/api/auth' },
    { host, path: '/api/admin' },
    { host, path: '/api/user', methods: writes },
    { host, path: '/api/users', methods: writes },
    { host, path: '/api/org', methods: writes },
    { host, path: '/api/orgs', methods: writes },
    { host, path: '/api/access-control', methods: writes },
    { host, path: '/api/teams/*/members', methods: writes },
    { host, path: '/api/*/sso-settings' },
    { host, path: '/api/datasources', methods: writes, isExact: true },
    { host, path: '/api/datasources/*', methods: writes, isExact: true },
    { host, path: '/api/datasources/uid/*', methods: writes, isExact: true },
    { host, path: '/api/plugins/*/settings', methods: writes },
    // Where alerts are sent, webhooks among others.
    { host, path: '/api/*/provisioning/contact-points', methods: writes },
    { host, path: '/api/alertmanager/*/config', methods: writes },
    { host, path: '/api/reports', methods: writes },
    { host, path: '/api/alert-notifications', methods: writes },
    { host, path: '/apis/notifications.alerting.grafana.app', methods: writes },
    // Without signing in, anyone with the URL can see it.
    { host, path: '/api/dashboards/uid/*/public-dashboards', methods: writes },
    { host, path: '/api/snapshots', methods: writes },
  ],
  access: {
    destructive: callsAt(
      host,
      `
        GET,HEAD /api/snapshots-delete
        POST /api/annotations/mass-delete
        POST,PUT /**/loki/api/v1/delete
        POST,PUT /**/api/v1/admin/tsdb/delete_series`,
    ),
  },
  bodyChecks: [],
  docs: [
    'https://grafana.com/docs/grafana-cloud/developer-resources/api-reference/http-api/authentication/',
    'https://grafana.com/docs/grafana/latest/http_api/auth/',
    'https://grafana.com/docs/grafana-cloud/developer-resources/api-reference/http-api/api-legacy/snapshot.md',
    'https://grafana.com/docs/grafana-cloud/monitor-infrastructure/logs/delete-log-lines/',
  ],
}
