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
  gemini: [
    {
      host: 'generativelanguage.googleapis.com',
      refused: `
        POST /v1alpha/auth_tokens
        POST /v1beta/webhooks
        POST /v1beta/tunedModels/1/permissions`,
      allowed: `
        GET /v1beta/models
        POST /v1beta/models/gemini-pro:generateContent
        POST /v1beta/models/gemini-pro:batchGenerateContent
        POST /upload/v1beta/files
        DELETE /v1beta/cachedContents/1`,
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
}
