import type { ApiPath } from './api-path.ts'
import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const [us, eu] = ['api.mailgun.net', 'api.eu.mailgun.net']
const key = { in: 'header', name: 'authorization', template: 'Basic {base64(api:{api_key})}' } as const
const atBoth = (path: string, methods?: readonly string[]): ApiPath[] =>
  [us, eu].map((host) => ({ host, path, ...(methods && { methods }) }))

export const mailgun: Preset = {
  id: 'mailgun',
  name: 'Mailgun',
  authMethods: [
    {
      kind: 'api_key',
      label: 'API key, US region',
      help: 'Create a key under API Security with a role that allows no more than is needed. A domain sending key can read nothing, so it would fail the check.',
      inject: [{ ...key, hosts: [us] }],
      check: { url: 'https://api.mailgun.net/v4/domains?limit=1' },
      env: ['MAILGUN_API_KEY'],
    },
    {
      kind: 'api_key',
      name: 'eu_api_key',
      label: 'API key, EU region',
      help: 'Create a key under API Security with a role that allows no more than is needed. A domain sending key can read nothing, so it would fail the check.',
      inject: [{ ...key, hosts: [eu] }],
      check: { url: 'https://api.eu.mailgun.net/v4/domains?limit=1' },
      env: ['MAILGUN_API_KEY'],
    },
  ],
  apiHosts: [us, eu],
  credentialPaths: [
    ...atBoth('/*/keys'),
    ...atBoth('/**/http_signing_key'),
    ...atBoth('/*/domains/*/credentials'),
    ...atBoth('/*/users', writes),
    ...atBoth('/*/accounts/subaccounts', writes),
    ...atBoth('/*/ip_whitelist', writes),
    // A route forwards what is received.
    ...atBoth('/*/routes', writes),
    ...atBoth('/*/domains/*/webhooks', writes),
    ...atBoth('/*/webhooks', writes),
    ...atBoth('/*/dkim/keys', writes),
  ],
  access: {
    reads: [us, eu].flatMap((host) =>
      callsAt(
        host,
        `
        POST /v1/analytics/metrics
        POST /v1/analytics/usage/metrics
        POST /v1/analytics/logs
        POST /v1/analytics/tags`,
      ),
    ),
  },
  bodyChecks: [],
  docs: [
    'https://documentation.mailgun.com/docs/mailgun/api-reference/authentication',
    'https://documentation.mailgun.com/docs/mailgun/api-reference',
    'https://www.mailgun.com/releases/update-to-the-mailgun-public-api-domain-including-ability-to-generate-an-api-key-programmatically/',
    'https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/tags-new/post-v1-analytics-tags',
    'https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/metrics.md',
    'https://documentation.mailgun.com/docs/mailgun/api-reference/openapi-final/logs',
  ],
}
