/** Calls to APIs where things are built and run. See lasting-access.ts. */
import type { Table } from './lasting-access.ts'

export const forHosting: Record<string, Table[]> = {
  bitbucket: [
    {
      host: 'api.bitbucket.org',
      refused: `
        POST /2.0/repositories/w/r/deploy-keys
        POST /2.0/repositories/w/r/hooks
        PUT /2.0/repositories/w/r/permissions-config/users/u
        PUT /2.0/repositories/w/r/pipelines_config/ssh/key_pair
        POST /2.0/repositories/w/r/pipelines_config/schedules
        POST /2.0/repositories/w/r/pipelines_config/variables
        POST /2.0/repositories/w/r/deployments_config/environments/e/variables
        POST /2.0/repositories/w/r/issues/export
        POST /2.0/workspaces/w/hooks
        POST /2.0/workspaces/w/projects/p/deploy-keys
        POST /2.0/workspaces/w/pipelines-config/variables
        POST /2.0/users/u/ssh-keys`,
      allowed: `
        GET /2.0/user
        GET /2.0/repositories/w/r
        POST /2.0/repositories/w/r/pullrequests
        POST /2.0/repositories/w/r/pipelines
        GET /2.0/repositories/w/r/src/main/deploy-keys/hooks.txt
        GET /2.0/workspaces/w/members`,
    },
    {
      host: 'bitbucket.org',
      refused: `
        POST /site/oauth2/access_token
        POST /w/r.git/info/lfs/objects/batch`,
      allowed: `
        GET /w/r.git/info/refs
        POST /w/r.git/git-upload-pack
        POST /w/r.git/git-receive-pack`,
    },
  ],
  buildkite: [
    {
      host: 'api.buildkite.com',
      refused: `
        DELETE /v2/access-token
        GET /v2/organizations/o/clusters/c/tokens
        POST /v2/organizations/o/clusters/c/secrets
        POST /v2/packages/organizations/o/registries/r/tokens
        POST /v2/organizations/o/teams/t/members
        POST /v2/organizations/o/services
        POST /v2/organizations/o/pipelines/p/webhook
        POST /v2/organizations/o/pipelines/p/schedules
        GET /v2/organizations/o/pipelines/p/builds/1/jobs/j/env`,
      allowed: `
        GET /v2/user
        GET /v2/access-token
        GET /v2/organizations/o/pipelines
        POST /v2/organizations/o/pipelines/p/builds
        PUT /v2/organizations/o/pipelines/p/builds/1/jobs/j/retry
        GET /v2/organizations/o/members`,
    },
  ],
  circleci: [
    {
      host: 'circleci.com',
      refused: `
        POST /graphql-unstable
        POST /api/v2/project/gh/o/r/checkout-key
        POST /api/v2/project/gh/o/r/envvar
        PUT /api/v2/context/c/environment-variable/V
        POST /api/v2/context
        POST /api/v2/webhook
        POST /api/v2/project/gh/o/r/schedule
        POST /api/v3/runner/token
        POST /api/v1.1/project/gh/o/r/ssh-key
        POST /api/v1.1/project/gh/o/r/token
        PATCH /api/v2/org/o/oidc-custom-claims`,
      allowed: `
        GET /api/v2/me
        POST /api/v2/project/gh/o/r/pipeline
        GET /api/v2/project/gh/o/r/envvar
        POST /api/v2/workflow/w/rerun
        GET /api/v2/context
        GET /api/v2/webhook`,
    },
  ],
  cloudflare: [
    {
      host: 'api.cloudflare.com',
      refused: `
        POST /client/v4/user/tokens
        PUT /client/v4/user/tokens/t/value
        POST /client/v4/accounts/a/tokens
        PUT /client/v4/accounts/a/tokens/t/value
        POST /client/v4/accounts/a/members
        POST /client/v4/accounts/a/access/service_tokens
        POST /client/v4/zones/z/access/apps
        GET /client/v4/accounts/a/access/identity_providers
        GET /client/v4/accounts/a/cfd_tunnel/t/token
        POST /client/v4/accounts/a/cfd_tunnel
        POST /client/v4/accounts/a/r2/temp-access-credentials
        PUT /client/v4/accounts/a/workers/scripts/s/secrets
        PUT /client/v4/accounts/a/workers/dispatch/namespaces/n/scripts/s/secrets
        GET /client/v4/accounts/a/challenges/widgets/w
        GET /client/v4/accounts/a/stream/live_inputs
        POST /client/v4/accounts/a/logpush/jobs
        POST /client/v4/zones/z/logpush/jobs
        POST /client/v4/zones/z/email/routing/rules
        POST /client/v4/accounts/a/email/routing/addresses
        POST /client/v4/accounts/a/alerting/v3/destinations/webhooks
        POST /client/v4/accounts/a/oauth_clients
        POST /client/v4/zones/z/client_certificates
        POST /client/v4/certificates`,
      exactly: 'PATCH /client/v4/user',
      allowed: `
        GET /client/v4/user/tokens/verify
        GET /client/v4/accounts/a/tokens/verify
        GET /client/v4/zones
        POST /client/v4/zones/z/dns_records
        POST /client/v4/zones/z/purge_cache
        PUT /client/v4/accounts/a/workers/scripts/s
        PUT /client/v4/accounts/a/storage/kv/namespaces/n/values/tokens
        GET /client/v4/accounts/a/members
        GET /client/v4/zones/z/email/routing/rules
        POST /client/v4/graphql`,
    },
  ],
  digitalocean: [
    {
      host: 'api.digitalocean.com',
      refused: `
        POST /v2/account/keys
        POST /v2/spaces/keys
        GET /v2/kubernetes/clusters/c/kubeconfig
        GET /v2/kubernetes/clusters/c/credentials
        GET /v2/registry/docker-credentials
        GET /v2/databases/d/users
        POST /v2/databases/d/pools
        POST /v2/databases/d/logsink
        GET /v2/functions/namespaces
        POST /v2/gen-ai/agents/a/api_keys
        POST /v2/gen-ai/openai/keys
        POST /v2/monitoring/sinks
        POST /v2/monitoring/alerts
        POST /v2/uptime/checks/c/alerts
        GET /v2/apps/a/components/c/exec
        GET /v2/apps/a/deployments/d/components/c/exec`,
      exactly: `
        GET /v2/databases
        GET /v2/databases/d`,
      allowed: `
        GET /v2/account
        GET /v2/account/keys
        POST /v2/droplets
        POST /v2/apps
        GET /v2/apps/a/components/c/logs
        GET /v2/monitoring/alerts
        GET /v2/databases/d/backups
        POST /v2/domains/example.com/records`,
    },
  ],
  heroku: [
    {
      host: 'api.heroku.com',
      refused: `
        POST /oauth/authorizations
        GET /oauth/tokens
        POST /account/keys
        GET /apps/a/config-vars
        PATCH /apps/a/config-vars
        GET /pipelines/p/stage/production/config-vars
        GET /addons/a/config
        POST /apps/a/webhooks
        GET /apps/a/log-drains
        POST /apps/a/collaborators
        POST /account/app-transfers
        PUT /teams/t/members
        PUT /teams/t/invitations
        POST /password-resets
        POST /users/u/actions/password-resets`,
      exactly: `
        PATCH /account
        PATCH /users/u`,
      allowed: `
        GET /account
        GET /account/keys
        GET /apps
        PATCH /apps/a/formation
        POST /apps/a/builds
        POST /apps/a/dynos
        DELETE /apps/a/dynos
        GET /apps/a/collaborators`,
    },
  ],
  hetzner: [
    {
      host: 'api.hetzner.cloud',
      refused: `
        POST /v1/ssh_keys
        POST /v1/servers/1/actions/reset_password
        POST /v1/servers/1/actions/request_console
        POST /v1/servers/1/actions/enable_rescue
        POST /v1/servers/1/actions/rebuild`,
      allowed: `
        GET /v1/locations
        GET /v1/ssh_keys
        POST /v1/servers
        POST /v1/servers/1/actions/reboot
        DELETE /v1/volumes/1`,
    },
  ],
  netlify: [
    {
      host: 'api.netlify.com',
      refused: `
        POST /api/v1/oauth/tickets
        POST /api/v1/deploy_keys
        POST /api/v1/hooks
        POST /api/v1/sites/s/build_hooks
        GET /api/v1/sites/s/env
        POST /api/v1/accounts/a/env
        GET /api/v1/sites/s/ai-gateway/token
        GET /api/v1/sites/s/database
        POST /api/v1/my-team/members
        PUT /api/v1/dns_zones/z/transfer`,
      allowed: `
        GET /api/v1/user
        GET /api/v1/sites
        POST /api/v1/sites/s/deploys
        PUT /api/v1/deploys/d/files/members.html
        GET /api/v1/hooks
        GET /api/v1/my-team/members`,
    },
  ],
  'npm-registry': [
    {
      host: 'registry.npmjs.org',
      refused: `
        GET /-/npm/v1/tokens
        POST /-/npm/v1/tokens
        POST /-/npm/v1/user
        POST /-/npm/v1/hooks/hook
        POST /-/npm/v1/oidc/token/exchange/package/p
        POST /-/v1/login
        PUT /-/user/org.couchdb.user:u
        PUT /-/org/o/user
        PUT /-/team/o/t/user
        POST /-/package/p/access
        POST /-/package/@s%2fp/trust
        PUT /p/-rev/1-ab
        PUT /@s/p/-rev/1-ab`,
      allowed: `
        GET /-/whoami
        GET /-/npm/v1/user
        GET /express
        GET /express/-/express-5.0.0.tgz
        PUT /@s%2fp
        PUT /-/package/p/dist-tags/latest
        GET /-/v1/search`,
    },
  ],
  supabase: [
    {
      host: 'abcdefghijklmnopqrst.supabase.co',
      refused: `
        POST /auth/v1/token
        POST /auth/v1/signup
        POST /auth/v1/invite
        POST /auth/v1/otp
        GET /auth/v1/verify
        GET /auth/v1/authorize
        GET /auth/v1/user/identities/authorize
        POST /auth/v1/admin/users
        PUT /auth/v1/admin/users/1
        POST /auth/v1/admin/generate_link
        POST /auth/v1/admin/sso/providers
        GET /auth/v1/admin/oauth/clients
        POST /auth/v1/admin/oauth/clients/1/regenerate_secret
        POST /auth/v1/admin/scim-providers/1/rotate-token
        POST /pg/query`,
      allowed: `
        GET /auth/v1/health
        GET /auth/v1/admin/users
        GET /rest/v1/articles
        POST /rest/v1/articles
        POST /rest/v1/rpc/f
        POST /graphql/v1
        POST /storage/v1/object/b/f
        POST /storage/v1/object/sign/b/f
        POST /functions/v1/f`,
    },
  ],
  vercel: [
    {
      host: 'api.vercel.com',
      refused: `
        POST /v3/user/tokens
        GET /v6/user/tokens
        POST /v1/webhooks
        POST /v1/drains
        POST /v1/log-drains
        GET /v10/projects/p/env
        POST /v1/env
        POST /v1/projects/p/token
        PATCH /v1/projects/p/protection-bypass
        POST /v1/projects/p/members
        POST /v2/teams/t/members
        POST /v2/projects/p/deploy-hooks
        GET /v3/secrets
        POST /v1/access-groups
        POST /projects/p/transfer-request
        POST /v1/global-config/c/token
        GET /v1/registrar/domains/example.com/auth-code
        POST /v1/integrations/sso/token`,
      exactly: 'PATCH /v2/teams/t',
      allowed: `
        GET /v2/user
        GET /v10/projects
        GET /v2/teams/t
        POST /v13/deployments
        POST /v2/files
        GET /v1/webhooks
        GET /v3/teams/t/members
        POST /v2/domains/example.com/records
        PATCH /v1/global-config/c/items`,
    },
  ],
}
