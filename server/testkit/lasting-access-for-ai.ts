/** Calls to APIs of models. See lasting-access.ts. */
import type { Table } from './lasting-access.ts'

export const forAi: Record<string, Table[]> = {
  anthropic: [
    {
      host: 'api.anthropic.com',
      refused: `
        GET /v1/organizations/api_keys
        POST /v1/organizations/api_keys/1
        POST /v1/organizations/invites
        POST /v1/organizations/users/1
        POST /v1/organizations/workspaces/1/members
        POST /v1/organizations/service_accounts
        POST /v1/organizations/federation_rules
        POST /v1/organizations/webhooks
        POST /v1/organizations/webhooks/1/regenerate_signing_secret
        POST /v1/organizations/telemetry_destinations
        POST /v1/vaults/1/credentials
        POST /v1/tunnels/1/reveal_token
        POST /v1/user_profiles/1/enrollment_url`,
      allowed: `
        POST /v1/messages
        POST /v1/messages/batches
        POST /v1/files
        GET /v1/models
        GET /v1/organizations/users
        GET /v1/organizations/usage_report/messages
        POST /v1/sessions`,
    },
  ],
  'brave-search': [
    {
      host: 'api.search.brave.com',
      refused: '',
      allowed: 'GET /res/v1/web/search',
    },
  ],
  cohere: [
    {
      host: 'api.cohere.com',
      refused: `
        POST /v1/connectors
        PATCH /v1/connectors/1
        POST /v1/connectors/1/oauth/authorize`,
      allowed: `
        GET /v1/models
        POST /v2/chat
        POST /v1/datasets
        GET /v1/connectors`,
    },
  ],
  elevenlabs: [
    {
      host: 'api.elevenlabs.io',
      refused: `
        POST /v1/service-accounts/s/api-keys
        GET /v1/service-accounts
        POST /v1/single-use-token/realtime_scribe
        GET /v1/convai/conversation/token
        GET /v1/convai/conversation/get-signed-url
        POST /v1/convai/secrets
        POST /v1/convai/mcp-servers
        POST /v1/workspace/webhooks
        POST /v1/workspace/invites/add
        POST /v1/workspace/members
        POST /v1/workspace/groups/g/members
        GET /v1/workspace/auth-connections`,
      allowed: `
        GET /v1/user
        POST /v1/text-to-speech/v
        GET /v1/voices
        POST /v1/convai/agents/create
        POST /v1/dubbing
        GET /v1/workspace/webhooks`,
    },
  ],
  gemini: [
    {
      host: 'generativelanguage.googleapis.com',
      refused: `
        POST /v1alpha/auth_tokens
        POST /v1beta/webhooks
        POST /batch
        POST /v1beta/tunedModels/1/permissions
        POST /v1beta/tunedModels/1:transferOwnership`,
      allowed: `
        GET /v1beta/models
        POST /v1beta/models/gemini-pro:generateContent
        POST /v1beta/models/gemini-pro:batchGenerateContent
        POST /upload/v1beta/files
        DELETE /v1beta/cachedContents/1`,
    },
  ],
  groq: [
    {
      host: 'api.groq.com',
      refused: '',
      allowed: `
        GET /openai/v1/models
        POST /openai/v1/chat/completions
        POST /openai/v1/audio/transcriptions`,
    },
  ],
  huggingface: [
    {
      host: 'huggingface.co',
      refused: `
        POST /api/settings/tokens/t/rotate
        POST /api/settings/webhooks
        GET /api/settings/webhooks
        POST /api/organizations/o/members
        GET /api/organizations/o/scim/v2/Users
        POST /api/spaces/u/s/secrets
        POST /api/spaces/u/s/variables
        GET /api/models/u/m/xet-write-token/main
        GET /api/datasets/u/d/xet-read-token/main
        POST /api/models/u/m/user-access-request/grant
        POST /oauth/token`,
      allowed: `
        GET /api/whoami-v2
        GET /api/models
        POST /api/repos/create
        POST /api/models/u/m/commit/main
        POST /api/models/u/m/discussions
        GET /u/m/resolve/main/settings/config.json`,
    },
    {
      host: 'router.huggingface.co',
      refused: '',
      allowed: 'POST /v1/chat/completions',
    },
  ],
  mistral: [
    {
      host: 'api.mistral.ai',
      refused: `
        POST /v1/service-accounts
        POST /v1/client/sessions
        POST /v1/connectors/1/organization/credentials
        GET /v1/connectors/1/user/credentials
        GET /v1/connectors/1/auth_url`,
      exactly: 'POST /v1/connectors',
      allowed: `
        GET /v1/users/me
        GET /v1/models
        POST /v1/chat/completions
        POST /v1/files
        PUT /v1/libraries/1/share
        POST /v1/connectors/1/tools/search/call`,
    },
  ],
  openai: [
    {
      host: 'api.openai.com',
      refused: `
        GET /v1/organization/admin_api_keys
        GET /v1/organization/projects/p/api_keys
        POST /v1/organization/projects/p/service_accounts
        POST /v1/organization/invites
        POST /v1/organization/users/u
        POST /v1/organization/projects/p/users
        POST /v1/organization/groups/g/users
        POST /v1/organization/roles
        POST /v1/organization/certificates
        POST /v1/projects/p/users/u/roles
        POST /v1/realtime/client_secrets
        POST /v1/realtime/sessions
        POST /v1/chatkit/sessions
        POST /v1/fine_tuning/checkpoints/c/permissions`,
      allowed: `
        GET /v1/me
        GET /v1/models
        POST /v1/responses
        POST /v1/chat/completions
        POST /v1/files
        POST /v1/fine_tuning/jobs
        POST /v1/realtime/calls/1/hangup
        GET /v1/organization/usage/completions
        GET /v1/organization/users`,
    },
  ],
  openrouter: [
    {
      host: 'openrouter.ai',
      refused: `
        POST /api/v1/keys
        GET /api/v1/keys
        POST /api/v1/auth/keys
        POST /api/v1/oauth/token
        POST /api/v1/byok
        GET /api/v1/vault/secrets
        POST /api/v1/workspaces/w/members/add
        POST /api/v1/observability/destinations`,
      allowed: `
        GET /api/v1/key
        GET /api/v1/models
        POST /api/v1/chat/completions
        POST /api/v1/responses
        GET /api/v1/organization/members`,
    },
  ],
  perplexity: [
    {
      host: 'api.perplexity.ai',
      refused: `
        POST /generate_auth_token
        POST /revoke_auth_token`,
      allowed: `
        POST /chat/completions
        POST /search`,
    },
  ],
  replicate: [
    {
      host: 'api.replicate.com',
      refused: 'GET /v1/webhooks/default/secret',
      allowed: `
        GET /v1/account
        POST /v1/predictions
        POST /v1/deployments
        POST /v1/files`,
    },
  ],
  tavily: [
    {
      host: 'api.tavily.com',
      refused: '',
      allowed: `
        GET /usage
        POST /search
        POST /extract`,
    },
  ],
}
