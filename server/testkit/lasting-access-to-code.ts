/** The part of lasting-access.ts for code hosts. */
import type { Table } from './lasting-access.ts'

export const github: Table[] = [
  {
    host: 'api.github.com',
    refused: `
        POST /hub
        GET /hub
        POST /user/emails
        POST /user/keys
        POST /user/migrations
        GET /user/migrations/1/archive
        PUT /user/installations/1/repositories/2
        POST /user/codespaces
        PUT /user/codespaces/secrets/S
        POST /repos/o/r/codespaces
        POST /repos/o/r/pulls/1/codespaces
        PUT /repos/o/r/actions/secrets/S
        PATCH /repos/o/r/actions/variables/V
        PUT /repositories/1/dependabot/secrets/S
        PUT /repos/o/r/environments/prod/secrets/S
        PUT /repos/o/r/environments/team%2Fprod/secrets/S
        PUT /orgs/o/actions/secrets/S
        PUT /orgs/o/actions/oidc/customization/sub
        POST /orgs/o/private-registries
        GET /repos/o/r/secret-scanning/alerts/1
        GET /orgs/o/secret-scanning/alerts
        PUT /repos/o/r/collaborators/u
        PATCH /repos/o/r/invitations/1
        POST /repos/o/r/transfer
        POST /orgs/o/invitations
        PUT /orgs/o/memberships/u
        PUT /orgs/o/outside_collaborators/u
        PUT /orgs/o/organization-roles/users/u/1
        PUT /orgs/o/teams/t/memberships/u
        PUT /organizations/1/team/2/memberships/u
        PUT /teams/1/members/u
        PUT /teams/1/repos/o/r
        POST /orgs/o/migrations
        POST /enterprises/e/audit-log/streams
        DELETE /installation/token
        POST /admin/users/u/authorizations`,
    allowed: `
        GET /user
        PATCH /user
        GET /user/emails
        GET /users/u/keys
        GET /user/codespaces
        PATCH /user/repository_invitations/1
        GET /repos/o/r/collaborators
        GET /repos/o/r/actions/secrets
        GET /repos/o/r/actions/variables
        POST /repos/o/r/issues
        PUT /repos/o/r/contents/hub/admin.md
        PUT /repos/o/r/pulls/1/merge
        POST /repos/o/r/actions/workflows/1/dispatches
        GET /orgs/o/members
        GET /repos/o/hub
        POST /repos/admin/hub/issues`,
  },
]

export const gitlab: Table[] = [
  {
    host: 'gitlab.com',
    refused: `
        POST /api/v4/user/emails
        POST /api/v4/users/1/emails
        PUT /api/v4/users/1
        PUT /api/v4/projects/1/integrations/slack
        GET /api/v4/projects/g%2Fp/integrations/slack
        PUT /api/v4/groups/1/integrations/webex-teams
        PUT /api/v4/projects/1/services/slack
        GET /api/v4/projects/1/secure_files/2/download
        GET /api/v4/projects/g%2Fsub%2Fp/secure_files/2/download
        POST /api/v4/projects/1/secure_files
        PUT /api/v4/projects/1/mirror/pull
        POST /api/v4/projects/1/pipeline_schedules
        GET /api/v4/projects/1/pipeline_schedules/2
        GET /api/v4/projects/1/pipelines/2/variables
        PATCH /api/v4/projects/1/job_token_scope
        POST /api/v4/projects/1/pages/domains
        POST /api/v4/projects/1/error_tracking/client_keys
        POST /api/v4/projects/1/external_status_checks
        POST /api/v4/projects/1/export
        GET /api/v4/groups/1/export/download
        POST /api/v4/projects/1/members
        POST /api/v4/groups/1/invitations
        PUT /api/v4/projects/1/access_requests/2/approve
        POST /api/v4/projects/1/share
        PUT /api/v4/projects/1/transfer
        POST /api/v4/groups/1/saml_group_links
        POST /api/v4/groups/1/manage/personal_access_tokens/1/rotate
        GET /api/v4/application/settings
        POST /api/v4/admin/ci/variables
        POST /api/v4/code_suggestions/direct_access
        GET /api/v4/packages/conan/v1/users/authenticate
        GET /jwt/auth`,
    allowed: `
        GET /api/v4/user
        GET /api/v4/user/emails
        GET /api/v4/users/1
        GET /api/v4/projects/1/members
        GET /api/v4/projects/1/pipeline_schedules
        POST /api/v4/projects/1/pipeline
        GET /api/v4/projects/1/pipelines/2
        POST /api/v4/projects/g%2Fp/merge_requests
        PUT /api/v4/projects/1/repository/files/services%2Fslack.rb
        GET /api/v4/projects/1/repository/archive.zip
        POST /api/v4/projects/1/issues/1/notes`,
  },
]
