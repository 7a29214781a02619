import { bearer, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.resend.com'

export const resend: Preset = {
  id: 'resend',
  name: 'Resend',
  authMethods: [
    {
      kind: 'api_key',
      label: 'API key with full access',
      help: 'Create a key under API Keys with "Full access". If the agent only sends, choose "Sending access" instead.',
      inject: [bearer],
      check: { url: 'https://api.resend.com/domains' },
      env: ['RESEND_API_KEY'],
    },
    {
      kind: 'api_key',
      name: 'sending_key',
      label: 'API key with sending access',
      help: 'Create a key under API Keys with "Sending access", for one domain. Such a key can read nothing, so it is not checked.',
      inject: [bearer],
      env: ['RESEND_API_KEY'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/api-keys' },
    { host, path: '/oauth' },
    // The answer to reading contains the signing secret.
    { host, path: '/webhooks' },
    { host, path: '/domains/*/claim' },
    { host, path: '/domains/claim', methods: writes },
  ],
  bodyChecks: [],
  docs: [
    'https://resend.com/changelog/new-api-key-permissions',
    'https://resend.com/docs/api-reference/api-keys/create-api-key.md',
  ],
}
