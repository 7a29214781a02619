import type { ApiPath } from './api-path.ts'
import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const apiHosts = ['api.intercom.io', 'api.eu.intercom.io', 'api.au.intercom.io']

function atEach(path: string, methods?: readonly string[]): ApiPath[] {
  return apiHosts.map((host) => ({ host, path, ...(methods && { methods }) }))
}

export const intercom: Preset = {
  id: 'intercom',
  name: 'Intercom',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create an app in the Developer Hub of the workspace. Its access token is under Configure, Authentication: select the permissions that the agent needs there.',
      inject: [bearer],
      check: {
        url: 'https://api.intercom.io/me',
        account: { id: 'app.id_code', labels: ['app.name', 'email'] },
      },
    },
  ],
  apiHosts,
  credentialPaths: [
    ...atEach('/auth'),
    ...atEach('/oauth'),
    ...atEach('/subscriptions', writes),
    ...atEach('/ip_allowlist', writes),
    ...atEach('/export'),
    ...atEach('/download'),
  ],
  access: {
    reads: apiHosts.flatMap((host) =>
      callsAt(
        host,
        `
        POST /contacts/search
        POST /conversations/search
        POST /tickets/search
        POST /companies/list`,
      ),
    ),
    destructive: apiHosts.flatMap((host) =>
      callsAt(
        host,
        `
        POST /contacts/merge
        POST /conversations/redact
        POST /user_delete_requests`,
      ),
    ),
  },
  bodyChecks: ['method_override'],
  docs: [
    'https://developers.intercom.com/docs/build-an-integration/learn-more/authentication/',
    'https://developers.intercom.com/building-apps/docs/rest-apis',
    'https://developers.intercom.com/docs/references/1.4/rest-api/users/delete-users',
    'https://developers.intercom.com/docs/references/2.12/rest-api/api.intercom.io/companies/listallcompanies.md',
    'https://developers.intercom.com/docs/references/2.12/rest-api/api.intercom.io/tickets/searchtickets.md',
  ],
}
