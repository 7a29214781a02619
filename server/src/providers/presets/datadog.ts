import type { ApiPath } from './api-path.ts'
import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

/** All sites have the same API. */
const sites: readonly [name: string, label: string, host: string][] = [
  ['us1', 'US1, datadoghq.com', 'api.datadoghq.com'],
  ['us3', 'US3', 'api.us3.datadoghq.com'],
  ['us5', 'US5', 'api.us5.datadoghq.com'],
  ['eu', 'EU, datadoghq.eu', 'api.datadoghq.eu'],
  ['ap1', 'AP1', 'api.ap1.datadoghq.com'],
  ['ap2', 'AP2', 'api.ap2.datadoghq.com'],
]

function atAllSites(path: string, methods?: readonly string[]): ApiPath[] {
  return sites.map(([, , host]) => ({ host, path, ...(methods && { methods }) }))
}

const searches = `
  POST /api/v1/logs-queries/list
  POST /api/v1/monitor/validate
  POST /api/v2/logs/events/search
  POST /api/v2/logs/analytics/aggregate
  POST /api/v2/spans/events/search
  POST /api/v2/spans/analytics/aggregate
  POST /api/v2/rum/events/search
  POST /api/v2/rum/analytics/aggregate
  POST /api/v2/audit/events/search
  POST /api/v2/ci/pipelines/events/search
  POST /api/v2/ci/pipelines/analytics/aggregate
  POST /api/v2/ci/tests/events/search
  POST /api/v2/ci/tests/analytics/aggregate
  POST /api/v2/events/search
  POST /api/v2/security_monitoring/signals/search
  POST /api/v2/error-tracking/issues/search
  POST /api/v2/query/timeseries
  POST /api/v2/query/scalar`

const deletions = `
  POST /api/*/slo/bulk_delete
  POST /api/*/synthetics/tests/delete
  POST /api/*/synthetics/**/bulk-delete
  POST /api/*/deletion/data`

export const datadog: Preset = {
  id: 'datadog',
  name: 'Datadog',
  authMethods: sites.map(([name, label, host]) => ({
    kind: 'api_key' as const,
    name,
    label,
    help: 'Create an API key and an application key in Organization Settings. Give the application key only the scopes that the agent needs.',
    members: [
      { name: 'api_key', label: 'API key' },
      { name: 'application_key', label: 'Application key' },
    ],
    inject: [
      { in: 'header' as const, name: 'dd-api-key', template: '{api_key}', hosts: [host] },
      { in: 'header' as const, name: 'dd-application-key', template: '{application_key}', hosts: [host] },
    ],
    check: { url: `https://${host}/api/v2/validate_keys` },
    env: ['DD_API_KEY', 'DD_APP_KEY'],
  })),
  apiHosts: sites.map(([, , host]) => host),
  credentialPaths: [
    ...atAllSites('/api/*/api_key'),
    ...atAllSites('/api/*/api_keys'),
    ...atAllSites('/api/*/application_key'),
    ...atAllSites('/api/*/application_keys'),
    ...atAllSites('/api/*/current_user/application_keys'),
    ...atAllSites('/api/*/personal_access_tokens'),
    ...atAllSites('/api/*/service_accounts'),
    ...atAllSites('/api/*/actions/connections'),
    ...atAllSites('/api/*/actions/app_key_registrations', writes),
    ...atAllSites('/api/*/oauth2'),
    ...atAllSites('/api/*/cloud_auth', writes),
    ...atAllSites('/api/*/authn_mappings', writes),
    ...atAllSites('/api/*/saml_configurations', writes),
    ...atAllSites('/api/*/org', writes),
    ...atAllSites('/api/*/org_connections', writes),
    ...atAllSites('/api/*/user', writes),
    ...atAllSites('/api/*/users', writes),
    ...atAllSites('/api/*/user_invitations', writes),
    ...atAllSites('/api/*/scim'),
    ...atAllSites('/api/*/ip_allowlist', writes),
    ...atAllSites('/api/*/domain_allowlist', writes),
    ...atAllSites('/api/*/org_configs', writes),
    ...atAllSites('/api/*/roles', writes),
    ...atAllSites('/api/*/team/*/memberships', writes),
    ...atAllSites('/api/*/integration', writes),
    ...atAllSites('/api/*/integrations', writes),
    ...atAllSites('/api/*/web-integrations', writes),
    ...atAllSites('/api/*/integration-interfaces', writes),
    ...atAllSites('/api/*/logs/config/archives', writes),
    ...atAllSites('/api/*/logs/config/custom-destinations', writes),
    ...atAllSites('/api/*/obs-pipelines', writes),
    ...atAllSites('/api/*/synthetics/private-locations', writes),
    ...atAllSites('/api/*/synthetics/variables'),
    ...atAllSites('/api/*/dashboard/public', writes),
    ...atAllSites('/api/*/graph/embed', writes),
  ],
  access: {
    reads: sites.flatMap(([, , host]) => callsAt(host, searches)),
    // It puts an image of the graph into cloud storage.
    writes: atAllSites('/api/*/graph/snapshot'),
    destructive: sites.flatMap(([, , host]) => callsAt(host, deletions)),
  },
  bodyChecks: [],
  docs: [
    'https://docs.datadoghq.com/account_management/api-app-keys/',
    'https://docs.datadoghq.com/api/latest/authentication',
    'https://docs.datadoghq.com/api/latest/key-management/validate-api-and-application-keys/',
    'https://docs.datadoghq.com/api/latest/logs/',
    'https://docs.datadoghq.com/api/latest/spans/?code-lang=go',
    'https://docs.datadoghq.com/api/latest/snapshots',
    'https://docs.datadoghq.com/api/latest/rum/',
    'https://docs.datadoghq.com/api/latest/audit',
    'https://docs.datadoghq.com/api/latest/ci-visibility-pipelines/',
    'https://docs.datadoghq.com/api/latest/ci-visibility-tests.md',
    'https://docs.datadoghq.com/api/latest/events/search-events/',
    'https://docs.datadoghq.com/api/latest/error-tracking/',
    'https://docs.datadoghq.com/api/latest/security-monitoring/get-a-list-of-security-signals.md',
    'https://docs.datadoghq.com/api/latest/monitors/validate-a-monitor/',
    'https://docs.datadoghq.com/api/latest/metrics/query-timeseries-data-across-multiple-products/',
  ],
}
