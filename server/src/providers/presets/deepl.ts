import { callsAt } from './preset.ts'
import type { Preset } from './preset.ts'

const [pro, free] = ['api.deepl.com', 'api-free.deepl.com']
const key = { in: 'header', name: 'authorization', template: 'DeepL-Auth-Key {api_key}' } as const

export const deepl: Preset = {
  id: 'deepl',
  name: 'DeepL',
  authMethods: [
    {
      kind: 'api_key',
      label: 'Key of DeepL API Pro',
      help: 'Copy or create a key in the account under API Keys, with permissions for what the agent needs. One that ends in ":fx" is of DeepL API Free.',
      inject: [{ ...key, hosts: [pro] }],
      check: { url: 'https://api.deepl.com/v2/usage' },
      env: ['DEEPL_AUTH_KEY'],
    },
    {
      kind: 'api_key',
      name: 'free_api_key',
      label: 'Key of DeepL API Free',
      help: 'Copy or create a key in the account under API Keys. It ends in ":fx".',
      inject: [{ ...key, hosts: [free] }],
      check: { url: 'https://api-free.deepl.com/v2/usage' },
      env: ['DEEPL_AUTH_KEY'],
    },
  ],
  apiHosts: [pro, free],
  credentialPaths: [{ host: pro, path: '/v2/admin/developer-keys' }],
  access: {
    reads: [pro, free].flatMap((host) => callsAt(host, 'POST /v2/document/*')),
    // A translation is deleted once it has been downloaded.
    writes: [pro, free].flatMap((host) => callsAt(host, '/v2/document/*/result')),
  },
  bodyChecks: [],
  docs: [
    'https://developers.deepl.com/docs/admin/managing-api-keys',
    'https://developers.deepl.com/docs/getting-started/auth',
    'https://developers.deepl.com/api-reference/admin-api',
    'https://developers.deepl.com/api-reference/document',
    'https://developers.deepl.com/api-reference/document/download-translated-document.md',
    'https://developers.deepl.com/api-reference/document/check-document-status.md',
  ],
}
