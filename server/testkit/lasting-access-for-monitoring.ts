/** Calls to APIs of what watches over a service. See lasting-access.ts. */
import type { Table } from './lasting-access.ts'

export const forMonitoring: Record<string, Table[]> = {
  datadog: [
    {
      host: 'api.datadoghq.com',
      refused: `
        POST /api/v1/api_key
        GET /api/v2/api_keys
        POST /api/v2/current_user/application_keys
        POST /api/v2/service_accounts
        POST /api/v2/personal_access_tokens
        POST /api/v2/users
        POST /api/v2/user_invitations
        POST /api/v2/scim/Users
        PATCH /api/v2/ip_allowlist
        PATCH /api/v2/org_configs/c
        POST /api/v1/graph/embed
        POST /api/v2/roles/r/users
        POST /api/v2/team/t/memberships
        POST /api/v1/integration/webhooks/configuration/webhooks
        POST /api/v2/logs/config/archives
        POST /api/v2/logs/config/custom-destinations
        POST /api/v1/synthetics/private-locations
        GET /api/v1/synthetics/variables/v
        POST /api/v2/actions/connections
        POST /api/v1/dashboard/public`,
      allowed: `
        GET /api/v2/validate_keys
        GET /api/v2/current_user
        GET /api/v2/users
        GET /api/v2/ip_allowlist
        POST /api/v1/dashboard
        POST /api/v1/monitor
        POST /api/v2/logs/events/search
        GET /api/v1/integration/aws
        POST /api/v2/series`,
    },
    { host: 'api.datadoghq.eu', refused: 'POST /api/v2/api_keys', allowed: 'GET /api/v2/validate_keys' },
  ],
  grafana: [
    {
      host: 'acme.grafana.net',
      refused: `
        POST /api/serviceaccounts/1/tokens
        GET /api/serviceaccounts/search
        POST /api/auth/keys
        POST /api/admin/users
        POST /api/org/invites
        POST /api/org/users
        PUT /api/users/1
        PUT /api/user/password
        POST /api/teams/1/members
        PUT /api/v1/sso-settings/google
        POST /api/v1/provisioning/contact-points
        POST /api/alertmanager/grafana/config/api/v1/alerts
        POST /api/dashboards/uid/u/public-dashboards
        POST /api/snapshots
        POST /api/reports
        POST /api/cloudmigration/token
        POST /api/alertmanager/uid/config/api/v1/alerts
        POST /apis/secret.grafana.app/v1beta1/namespaces/default/securevalues
        POST /apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories
        POST /api/access-control/users/1/roles`,
      exactly: `
        POST /api/datasources
        PUT /api/datasources/uid/u`,
      allowed: `
        GET /api/org
        GET /api/search
        POST /api/dashboards/db
        POST /api/ds/query
        POST /api/datasources/proxy/1/api/v1/query
        POST /api/annotations
        POST /api/v1/provisioning/alert-rules
        GET /api/org/users`,
    },
  ],
  pagerduty: [
    {
      host: 'api.pagerduty.com',
      refused: `
        POST /webhook_subscriptions
        POST /extensions
        POST /services/s/integrations
        GET /services/s/integrations/i
        POST /event_orchestrations/o/integrations
        PUT /event_orchestrations/o/global
        PUT /event_orchestrations/services/s
        POST /incident_workflows/triggers
        POST /status_pages/p/subscriptions
        POST /addons
        POST /automation_actions/runners
        PUT /teams/t/users/u
        DELETE /users/u/sessions`,
      exactly: `
        POST /users
        POST /incident_workflows
        PUT /incident_workflows/w
        PUT /users/u`,
      allowed: `
        GET /abilities
        GET /users/me
        GET /webhook_subscriptions
        GET /event_orchestrations/o/global
        POST /incident_workflows/w/instances
        POST /incidents
        PUT /incidents/i
        POST /incidents/i/notes
        POST /users/u/contact_methods`,
    },
  ],
  sentry: [
    {
      host: 'sentry.io',
      refused: `
        POST /api/0/api-tokens/
        POST /api/0/organizations/o/org-auth-tokens/
        POST /api/0/organizations/o/members/
        PUT /api/0/organizations/o/members/1/teams/t/
        POST /api/0/organizations/o/scim/v2/Users
        PUT /api/0/organizations/o/invite-requests/1/
        PUT /api/0/organizations/o/access-requests/1/
        GET /api/0/projects/o/p/tempest-credentials/
        GET /api/0/projects/o/p/hooks/
        POST /api/0/projects/o/p/hooks/
        GET /api/0/projects/o/p/keys/
        POST /api/0/sentry-apps/
        POST /api/0/sentry-apps/a/api-tokens/
        POST /api/0/organizations/o/integrations/
        POST /api/0/organizations/o/forwarding/
        POST /api/0/projects/o/p/plugins/webhooks/
        POST /api/0/organizations/o/prevent/owner/w/repository/r/token/regenerate/`,
      allowed: `
        GET /api/0/organizations/
        GET /api/0/organizations/o/issues/
        PUT /api/0/organizations/o/issues/1/
        GET /api/0/organizations/o/members/
        POST /api/0/organizations/o/releases/
        POST /api/0/projects/o/p/rules/`,
    },
    {
      host: 'de.sentry.io',
      refused: 'POST /api/0/organizations/o/members/',
      allowed: 'GET /api/0/organizations/o/issues/',
    },
    {
      host: 'us.sentry.io',
      refused: 'GET /api/0/projects/o/p/keys/',
      allowed: 'GET /api/0/organizations/o/issues/',
    },
  ],
}
