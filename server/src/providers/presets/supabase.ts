import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = '*.supabase.co'

export const supabase: Preset = {
  id: 'supabase',
  name: 'Supabase',
  authMethods: [
    {
      kind: 'api_key',
      label: 'Project API key',
      help: 'In the project, open Settings > API Keys. A publishable key reaches only what row level security allows; a secret key reaches all data. Legacy keys are not supported. The project is the first part of its supabase.co address.',
      members: [
        { name: 'project', label: 'Project', host: '{project}.supabase.co', pattern: '[a-z]{20,20}' },
        { name: 'api_key', label: 'Publishable or secret key' },
      ],
      inject: [{ in: 'header', name: 'apikey', template: '{api_key}' }],
      check: {
        url: 'https://{project}.supabase.co/auth/v1/health',
        // The same everywhere: the project is the account.
        account: { id: 'name' },
      },
    },
  ],
  apiHosts: [host],
  batchPaths: [{ host, path: '/graphql/v1' }],
  credentialPaths: [
    // Signing in, sign-in links, users and how they sign in. Reading users is allowed.
    { host, path: '/auth/v1', methods: writes },
    { host, path: '/auth/v1/authorize' },
    { host, path: '/auth/v1/callback' },
    { host, path: '/auth/v1/verify' },
    { host, path: '/auth/v1/reauthenticate' },
    { host, path: '/auth/v1/oauth' },
    { host, path: '/auth/v1/**/identities/authorize' },
    { host, path: '/auth/v1/admin/oauth' },
    { host, path: '/auth/v1/admin/sso' },
    { host, path: '/auth/v1/admin/scim-providers' },
    { host, path: '/auth/v1/scim' },
    // SQL of any kind, and settings.
    { host, path: '/pg' },
    { host, path: '/rest-admin' },
    { host, path: '/realtime/v1/api/tenants' },
    { host, path: '/analytics', methods: writes },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /storage/v1/object/list/*
        POST /storage/v1/object/list-v2/*`,
    ),
    // A function does what its code says.
    writes: callsAt(host, 'GET,HEAD,OPTIONS /functions'),
    destructive: callsAt(
      host,
      `
        POST /storage/v1/bucket/*/empty
        POST /storage/v1/vector/Delete*`,
    ),
  },
  bodyChecks: ['graphql'],
  docs: [
    'https://supabase.com/docs/guides/getting-started/api-keys',
    'https://supabase.com/docs/reference/self-hosting-auth/introduction',
    'https://supabase.com/docs/guides/storage/serving/downloads',
    'https://supabase.com/docs/reference/storage/usage',
    'https://github.com/supabase/storage/tree/master/src/http/routes/object',
    'https://supabase.com/docs/guides/graphql',
    'https://supabase.com/docs/guides/graphql/functions',
    'https://app.unpkg.com/@supabase/storage-js@2.90.1/files/src/lib/vectors/StorageVectorsClient.ts',
  ],
}
