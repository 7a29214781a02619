import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.pagerduty.com'

export const pagerduty: Preset = {
  id: 'pagerduty',
  name: 'PagerDuty',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create an API user token in your profile under User Settings. A general access key, from Integrations, API Access Keys, can be read-only.',
      inject: [{ in: 'header', name: 'authorization', template: 'Token token={api_key}' }],
      check: {
        url: 'https://api.pagerduty.com/abilities',
        headers: { accept: 'application/vnd.pagerduty+json;version=2' },
      },
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/webhook_subscriptions', methods: writes },
    { host, path: '/extensions', methods: writes },
    // The answer contains the key that sends events.
    { host, path: '/services/*/integrations' },
    { host, path: '/event_orchestrations/*/integrations' },
    // Their rules call any URL.
    { host, path: '/event_orchestrations', methods: writes },
    { host, path: '/incident_workflows', methods: writes, isExact: true },
    { host, path: '/incident_workflows/*', methods: writes, isExact: true },
    { host, path: '/incident_workflows/triggers', methods: writes },
    { host, path: '/status_pages/*/subscriptions', methods: writes },
    { host, path: '/addons', methods: writes },
    { host, path: '/automation_actions/runners', methods: writes },
    { host, path: '/workflows/integrations', methods: writes },
    { host, path: '/integration-slack', methods: writes },
    { host, path: '/integration-jira-cloud', methods: writes },
    { host, path: '/users', methods: ['POST'], isExact: true },
    { host, path: '/users/*', methods: ['PUT'], isExact: true },
    { host, path: '/users/*/sessions', methods: writes },
    { host, path: '/teams/*/users', methods: writes },
    { host, path: '/oauth_delegations', methods: writes },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /analytics/metrics/incidents/*
        POST /analytics/metrics/incidents/*/all
        POST /analytics/metrics/pd_advance_usage/features
        POST /analytics/metrics/responders/*
        POST /analytics/metrics/users/all
        POST /analytics/raw/incidents
        POST /analytics/raw/responders/*/incidents`,
    ),
  },
  bodyChecks: ['method_override'],
  docs: [
    'https://support.pagerduty.com/main/docs/api-access-keys',
    'https://raw.githubusercontent.com/PagerDuty/developer-docs/main/docs/REST-API/01-Overview.md',
    'https://raw.githubusercontent.com/PagerDuty/developer-docs/main/docs/REST-API/02-Authentication.md',
    'https://raw.githubusercontent.com/PagerDuty/api-schema/main/reference/REST/openapiv3.json',
  ],
}
