import type { ApiPath } from './api-path.ts'
import { bearer, gitErrors, gitReads, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.bitbucket.org'
const gitPaths = ['/*/*/info/refs', '/*/*/git-upload-pack', '/*/*/git-receive-pack']

/** Of a repository. */
const inRepository = (path: string, methods?: readonly string[]): ApiPath => ({
  host,
  path: `/2.0/repositories/*/*/${path}`,
  ...(methods && { methods }),
})
const inWorkspace = (path: string, methods?: readonly string[]): ApiPath => ({
  host,
  path: `/2.0/workspaces/*/${path}`,
  ...(methods && { methods }),
})

export const bitbucket: Preset = {
  id: 'bitbucket',
  name: 'Bitbucket',
  authMethods: [
    {
      kind: 'api_key',
      label: 'API token',
      help: 'Create an API token with scopes for Bitbucket at id.atlassian.com under Security. It needs read:user:bitbucket, by which it is checked, and the scopes of what the agent does.',
      members: [
        { name: 'email', label: 'E-mail address', secret: false },
        { name: 'api_token', label: 'API token' },
      ],
      inject: [
        { in: 'header', name: 'authorization', template: 'Basic {base64({email}:{api_token})}', hosts: [host] },
        {
          in: 'header',
          name: 'authorization',
          template: 'Basic {base64(x-bitbucket-api-token-auth:{api_token})}',
          hosts: ['bitbucket.org'],
          paths: gitPaths,
        },
      ],
      check: {
        url: 'https://api.bitbucket.org/2.0/user',
        account: { id: 'uuid', labels: ['username', 'display_name'] },
      },
    },
    {
      kind: 'api_key',
      name: 'access_token',
      label: 'Access token of a repository, project or workspace',
      help: 'Create it in the settings of the repository, project or workspace under Access tokens, with the scopes of what the agent does.',
      inject: [
        { ...bearer, hosts: [host] },
        {
          in: 'header',
          name: 'authorization',
          template: 'Basic {base64(x-token-auth:{api_key})}',
          hosts: ['bitbucket.org'],
          paths: gitPaths,
        },
      ],
    },
  ],
  apiHosts: [host, 'bitbucket.org'],
  credentialPaths: [
    inRepository('deploy-keys'),
    inRepository('hooks'),
    inRepository('permissions-config', writes),
    inRepository('pipelines_config/ssh', writes),
    inRepository('pipelines_config/runners', writes),
    inRepository('pipelines-config/runners', writes),
    inRepository('pipelines_config/schedules', writes),
    // Reading hides the values of secured ones. Setting one changes what a pipeline trusts.
    inRepository('pipelines_config/variables', writes),
    inRepository('deployments_config', writes),
    inRepository('issues/export'),
    inWorkspace('hooks'),
    inWorkspace('members', writes),
    inWorkspace('projects/*/deploy-keys'),
    inWorkspace('projects/*/permissions-config', writes),
    inWorkspace('pipelines-config', writes),
    { host, path: '/2.0/users/*/ssh-keys', methods: writes },
    { host, path: '/2.0/users/*/gpg-keys', methods: writes },
    { host, path: '/2.0/users/*/pipelines_config/variables', methods: writes },
    { host, path: '/2.0/teams/*/pipelines_config/variables', methods: writes },
    { host, path: '/2.0/addon' },
    { host: 'bitbucket.org', path: '/site/oauth2' },
    { host: 'bitbucket.org', path: '/account' },
    // Git LFS: the answer has URLs and headers that give access to the files.
    { host: 'bitbucket.org', path: '/*/*/info/lfs' },
  ],
  access: {
    reads: [
      ...gitReads('bitbucket.org', '/*/*'),
      { host, path: '/2.0/repositories/*/*/commits', methods: ['POST'] },
      { host, path: '/2.0/repositories/*/*/commits/*', methods: ['POST'] },
    ],
  },
  bodyChecks: [],
  errorFormats: gitErrors('bitbucket.org', '/*/*'),
  docs: [
    'https://support.atlassian.com/bitbucket-cloud/docs/using-api-tokens',
    'https://support.atlassian.com/bitbucket-cloud/kb/getting-401-http-error-while-authenticating-to-bitbucket-cloud-rest-apis',
    'https://developer.atlassian.com/cloud/bitbucket/rest/intro/',
    'https://developer.atlassian.com/cloud/bitbucket/rest/api-group-commits/',
  ],
}
