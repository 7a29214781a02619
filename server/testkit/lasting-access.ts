/**
 * For each preset, from the vendor's reference: calls whose effect outlives the grant (such as webhooks), and similar
 * calls that must stay allowed.
 */
import { forAi } from './lasting-access-for-ai.ts'
import { forHosting } from './lasting-access-for-hosting.ts'
import { forMonitoring } from './lasting-access-for-monitoring.ts'
import { forWork } from './lasting-access-for-work.ts'
import { github, gitlab } from './lasting-access-to-code.ts'

export interface Table {
  /** The host of the paths. */
  host: string
  /** With everything below it. */
  refused: string
  /** Refused too, but not what is below it. */
  exactly?: string
  allowed: string
}

/** Method and path of each line. */
export function callsIn(text: string): [method: string, path: string][] {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').map((line) => line.split(' ') as [string, string])
}

/** Presets without OAuth. */
export const withKeysAlone: Record<string, Table[]> = { ...forAi, ...forHosting, ...forMonitoring, ...forWork }

export const lastingAccess: Record<string, Table[]> = {
  ...withKeysAlone,
  asana: [
    {
      host: 'app.asana.com',
      refused: `
        POST /api/1.0/webhooks
        PUT /api/1.0/webhooks/1
        POST /api/1.0/workspaces/1/addUser
        POST /api/1.0/teams/1/addUser
        POST /api/1.0/access_requests/1/approve
        POST /api/1.0/organization_exports
        GET /api/1.0/organization_exports/1
        POST /api/1.0/exports/graph`,
      allowed: `
        GET /api/1.0/webhooks
        GET /api/1.0/workspaces/1/users
        POST /api/1.0/tasks
        POST /api/1.0/projects/1/addMembers
        POST /api/1.0/workspaces/1/removeUser`,
    },
  ],
  atlassian: [
    {
      host: 'api.atlassian.com',
      refused: `
        POST /graphql
        POST /ex/jira/c1/rest/api/3/webhook
        POST /ex/jira/c1/rest/atlassian-connect/1/app/module/dynamic
        POST /ex/jira/c1/rest/api/3/user
        POST /ex/jira/c1/rest/api/3/group/user
        POST /ex/jira/c1/rest/api/3/project/P/role/1
        POST /ex/jira/c1/rest/api/3/role/1/actors
        PUT /ex/jira/c1/rest/api/3/permissionscheme/1
        POST /ex/jira/c1/rest/servicedeskapi/servicedesk/1/customer
        POST /ex/confluence/c1/wiki/api/v2/user/access/invite-by-email
        POST /ex/confluence/c1/wiki/rest/api/space/S/permission
        POST /ex/confluence/c1/wiki/api/v2/spaces/1/role-assignments
        POST /compass/v1/webhooks
        POST /automation/public/jira/c1/rest/v1/rule
        POST /jsm/ops/api/c1/v1/integrations
        POST /jsm/ops/api/c1/v1/forwarding-rules`,
      allowed: `
        GET /oauth/token/accessible-resources
        GET /ex/jira/c1/rest/api/3/webhook
        POST /ex/jira/c1/rest/api/3/issue/WEBHOOK-1/comment
        GET /ex/jira/c1/rest/api/3/user?accountId=1
        GET /ex/jira/c1/rest/api/3/project/P/role/1
        POST /ex/jira/c1/rest/api/3/filter/1/permission
        POST /ex/confluence/c1/wiki/api/v2/pages`,
    },
  ],
  discord: [
    {
      host: 'discord.com',
      refused: `
        POST /api/v10/channels/1/webhooks
        POST /api/channels/1/followers
        PUT /api/v10/channels/1/recipients/2
        PUT /api/v10/guilds/1/members/2
        PUT /api/guilds/1/members/2/roles/3
        PATCH /api/v10/guilds/1/vanity-url
        POST /api/v10/channels/1/invites
        GET /api/v9/users/@me/connections/twitch/1/access-token
        POST /api/v9/users/@me/mfa/totp/enable`,
      allowed: `
        GET /api/v10/users/@me
        GET /api/v10/users/@me/connections
        GET /api/v10/users/@me/guilds/1/member
        GET /api/v10/invites/abc
        POST /api/v10/channels/1/messages`,
    },
  ],
  dropbox: [
    {
      host: 'api.dropboxapi.com',
      refused: `
        POST /2/auth/token/revoke
        POST /2/team/members/add_v2
        POST /2/team/members/add
        POST /2/team/members/set_admin_permissions_v2
        POST /2/team/members/set_profile_v2
        POST /2/team/members/secondary_emails/add
        POST /2/team/members/recover
        POST /2/team/members/send_welcome_email
        POST /2/team/groups/members/add
        POST /2/team/sharing_allowlist/add
        POST /2/sharing/transfer_folder
        POST /2/files/get_temporary_upload_link`,
      allowed: `
        POST /2/files/list_folder
        POST /2/files/get_temporary_link
        POST /2/sharing/create_shared_link_with_settings
        POST /2/sharing/add_folder_member
        POST /2/team/members/list_v2
        POST /2/team/members/get_info_v2`,
    },
  ],
  figma: [
    {
      host: 'api.figma.com',
      refused: `
        POST /v2/webhooks
        PUT /v2/webhooks/1
        POST /v1/oauth/token`,
      allowed: `
        GET /v2/webhooks/1/requests
        POST /v1/files/abc/comments
        POST /v1/dev_resources`,
    },
  ],
  github,
  gitlab,
  google: [
    {
      host: 'gmail.googleapis.com',
      refused: `
        POST /gmail/v1/users/me/watch
        POST /gmail/v1/users/me/settings/filters
        PUT /gmail/v1/users/me/settings/imap
        PUT /gmail/v1/users/me/settings/pop
        POST /gmail/v1/users/me/settings/sendAs
        PATCH /gmail/v1/users/me/settings/sendAs/a@example.com
        POST /gmail/v1/users/me/settings/delegates
        PUT /gmail/v1/users/me/settings/autoForwarding`,
      allowed: `
        POST /gmail/v1/users/me/stop
        GET /gmail/v1/users/me/settings/filters
        GET /gmail/v1/users/me/settings/sendAs
        PUT /gmail/v1/users/me/settings/vacation
        POST /gmail/v1/users/me/messages/send
        POST /upload/gmail/v1/users/me/messages/send`,
    },
    {
      host: 'www.googleapis.com',
      refused: `
        POST /drive/v3/changes/watch
        POST /drive/v3/files/1/watch
        GET /drive/v3/files/generateCseToken
        POST /calendar/v3/calendars/primary/events/watch
        POST /calendar/v3/users/me/calendarList/watch
        POST /calendar/v3/users/me/settings/watch
        POST /calendar/v3/calendars/primary/acl
        PATCH /calendar/v3/calendars/primary/acl/user:a@example.com
        POST /calendar/v3/calendars/primary/acl/watch
        GET /youtube/v3/liveStreams
        POST /gmail/v1/users/me/settings/filters
        POST /admin/directory/v1/users
        POST /storage/v1/b/b/notificationConfigs`,
      allowed: `
        GET /calendar/v3/calendars/primary/acl
        POST /calendar/v3/calendars/primary/events
        POST /drive/v3/files/1/permissions
        POST /drive/v3/channels/stop
        GET /drive/v3/changes
        GET /youtube/v3/liveBroadcasts
        GET /admin/directory/v1/users`,
    },
    {
      host: 'forms.googleapis.com',
      refused: `
        POST /v1/forms/1/watches
        POST /v1/forms/1/watches/2:renew`,
      allowed: `
        GET /v1/forms/1/watches
        POST /v1/forms/1:batchUpdate`,
    },
  ],
  hubspot: [
    {
      host: 'api.hubapi.com',
      refused: `
        POST /settings/v3/users/
        POST /settings/users/2026-03
        POST /automation/v4/flows
        POST /automation/v4/actions/1
        POST /crm/v3/extensions/cards-dev/1
        POST /crm/extensions/2026-03/cards-dev/1
        POST /crm/v3/exports/export/async
        POST /crm/exports/2026-03/export/async
        GET /crm/v3/exports/export/async/tasks/1/status
        POST /email/public/v1/smtpapi/tokens
        POST /webhooks/v3/1/subscriptions`,
      allowed: `
        GET /settings/v3/users/
        GET /automation/v4/flows
        POST /crm/v3/objects/contacts
        POST /crm/v3/imports
        POST /crm/v3/lists/1/memberships/add`,
    },
  ],
  linear: [
    { host: 'api.linear.app', refused: 'POST /oauth/token', allowed: 'POST /graphql' },
    { host: 'uploads.linear.app', refused: '', allowed: 'GET /a/b/c' },
  ],
  microsoft: [
    {
      host: 'graph.microsoft.com',
      refused: `
        POST /v1.0/invitations
        POST /v1.0/groups/1/members/$ref
        POST /v1.0/groups('1')/owners/$ref
        POST /v1.0/teams/1/members
        POST /v1.0/teams/1/members/add
        POST /v1.0/me/calendar/calendarPermissions
        PATCH /v1.0/users/1/calendars/2/calendarPermissions('3')
        POST /v1.0/me/oauth2PermissionGrants
        POST /v1.0/users/1/appRoleAssignments
        POST /v1.0/applicationTemplates/1/instantiate
        POST /v1.0/sites/1/permissions
        POST /v1.0/teams/1/installedApps
        POST /v1.0/me/teamwork/installedApps
        POST /beta/roleManagement/directory/roleAssignments
        POST /v1.0/directoryRoles/1/members/$ref
        POST /v1.0/domains/a.example/federationConfiguration
        POST /v1.0/policies/appManagementPolicies
        GET /v1.0/me/drive/root/subscriptions/socketIo
        POST /v1.0/subscriptions`,
      allowed: `
        GET /v1.0/groups/1/members
        GET /v1.0/me/calendar/calendarPermissions
        POST /v1.0/me/events
        POST /v1.0/users/1/sendMail
        POST /v1.0/me/drive/items/1/createLink
        POST /v1.0/me/drive/items/1/invite
        POST /v1.0/me/drive/items/1/createUploadSession
        POST /v1.0/teams/1/channels/2/messages
        GET /v1.0/roleManagement/directory/roleAssignments`,
    },
  ],
  notion: [
    {
      host: 'api.notion.com',
      refused: `
        POST /v1/oauth/token
        POST /scim/v2/Users
        POST /admin/v1/exports`,
      allowed: `
        POST /v1/pages
        POST /v1/sessions
        POST /v1/file_uploads`,
    },
  ],
  salesforce: [
    {
      host: 'acme.my.salesforce.com',
      refused: `
        POST /services/data/v62.0/tooling/sobjects/ApexClass
        POST /services/data/v62.0/tooling/sobjects/EventRelayConfig
        POST /services/data/v62.0/sobjects/EmailServicesAddress
        POST /services/data/v62.0/sobjects/User
        PATCH /services/data/v62.0/sobjects/User/005
        POST /services/data/v62.0/sobjects/PermissionSetAssignment
        POST /services/data/v62.0/sobjects/GroupMember
        GET /services/data/v62.0/sobjects/OauthToken/1`,
      allowed: `
        GET /services/data/v62.0/sobjects/User/005
        GET /services/data/v62.0/tooling/query
        POST /services/data/v62.0/sobjects/Account
        PATCH /services/data/v62.0/sobjects/Contact/003`,
    },
  ],
  slack: [
    {
      host: 'slack.com',
      refused: `
        POST /api/admin.users.invite
        POST /api/admin.users.setAdmin
        POST /api/admin.inviteRequests.approve
        POST /api/admin.roles.addAssignments
        POST /api/users.admin.invite
        POST /api/conversations.inviteShared
        GET /api/conversations.inviteShared
        POST /api/conversations.approveSharedInvite
        POST /api/conversations.requestSharedInvite.approve
        POST /api/workflows.triggers.create
        POST /api/apps.connections.open`,
      allowed: `
        POST /api/chat.postMessage
        POST /api/conversations.invite
        POST /api/conversations.create
        POST /api/files.getUploadURLExternal
        POST /api/files.sharedPublicURL
        GET /api/admin.users.list
        GET /api/users.list`,
    },
  ],
  spotify: [
    {
      host: 'api.spotify.com',
      refused: '',
      allowed: `
        PUT /v1/me/player/play
        POST /v1/users/u/playlists`,
    },
  ],
  zoom: [
    {
      host: 'api.zoom.us',
      refused: `
        POST /v3/graphql
        POST /v2/users/me/assistants
        DELETE /v2/users/me/schedulers
        PUT /v2/accounts/me/owner
        POST /v2/roles/1/members
        POST /v2/rooms
        POST /v2/devices
        GET /v2/sip_phones/phones
        GET /v2/phone/devices/1
        POST /v2/phone/extension/1/call_handling/settings/business_hours
        PATCH /v2/live_meetings/1/rtms_app/status
        GET /v2/videosdk/sessions/1/livestream
        GET /v2/videosdk/sessions/1/stream_ingestions
        POST /scim2/Users
        POST /v2/marketplace/app/event_subscription`,
      allowed: `
        GET /v2/users/me/assistants
        POST /v2/users/me/meetings
        POST /v2/meetings/1/registrants
        POST /v2/meetings/1/invite_links
        GET /v2/accounts/me/settings
        GET /v2/rooms`,
    },
  ],
}
