import { bearer, callsAt, gitErrors, gitReads, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'huggingface.co'

export const huggingface: Preset = {
  id: 'huggingface',
  name: 'Hugging Face',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a fine-grained token at huggingface.co/settings/tokens, for the repositories and permissions that the agent needs.',
      inject: [bearer],
      check: { url: 'https://huggingface.co/api/whoami-v2', account: { id: 'id', labels: ['name'] } },
      env: ['HF_TOKEN'],
    },
  ],
  apiHosts: [host, 'router.huggingface.co'],
  credentialPaths: [
    { host, path: '/oauth' },
    { host, path: '/login' },
    { host, path: '/settings' },
    // Tokens, keys, webhooks and how one signs in.
    { host, path: '/api/settings' },
    { host, path: '/api/organizations', methods: writes },
    { host, path: '/api/organizations/*/scim' },
    { host, path: '/api/spaces/*/*/secrets', methods: writes },
    { host, path: '/api/spaces/*/*/variables', methods: writes },
    // Tokens of the storage below.
    { host, path: '/api/**/xet-read-token' },
    { host, path: '/api/**/xet-write-token' },
    { host, path: '/api/**/jwt' },
    { host, path: '/api/**/user-access-request', methods: writes },
    { host, path: '/api/repos/move' },
    { host, path: '/api/scheduled-jobs', methods: writes },
  ],
  access: {
    reads: [
      ...gitReads(host, '/**'),
      // Not for names without an owner: `paths-info` could be the name of a repository.
      ...callsAt(
        host,
        `
        POST /api/models/*/*/paths-info/*
        POST /api/datasets/*/*/paths-info/*
        POST /api/spaces/*/*/paths-info/*`,
      ),
    ],
    // Of the API, where the last segment can be the name of a file or a branch.
    writes: callsAt(host, 'POST /**/api/**/git-*-pack'),
    destructive: callsAt(
      host,
      `
        POST /api/**/super-squash
        POST /api/**/lfs-files/batch
        POST /api/buckets/*/*/batch
        POST /api/**/discussions/*/comment/*/hide`,
    ),
  },
  bodyChecks: [],
  errorFormats: gitErrors(host, '/**'),
  docs: [
    'https://huggingface.co/docs/hub/security-tokens',
    'https://huggingface.co/docs/hub/oauth',
    'https://huggingface.co/docs/huggingface_hub/guides/buckets',
    'https://huggingface.co/docs/huggingface_hub/package_reference/hf_api',
  ],
}
