import type { AccessRows } from './access-rows.ts'

const jira = (base: string, confluence: string): AccessRows => ({
  read: `
    GET ${base}/rest/api/3/issue/A-1
    POST ${base}/rest/api/3/search {"jql":"project = A"}
    POST ${base}/rest/api/3/search/jql {"jql":"project = A"}
    POST ${base}/rest/api/2/jql/parse {"queries":[]}
    POST ${base}/rest/api/3/issue/bulkfetch {"issueIdsOrKeys":["A-1"]}`,
  write: `
    POST ${base}/rest/api/3/issue {"fields":{"summary":"delete"}}
    POST ${base}/rest/api/3/issue/A-1/transitions {"transition":{"id":"5"}}
    PUT ${base}/rest/api/3/issue/A-1 {}
    POST ${base}/rest/api/3/search/other {}
    GET ${base}/rest/api/3/issue/A-1?fields=summary&updateHistory=true
    GET ${base}/rest/agile/1.0/issue/A-1?updateHistory=true
    GET ${confluence}/wiki/rest/api/content/1?trigger=viewed`,
  destructive: `
    DELETE ${base}/rest/api/3/issue/A-1
    POST ${base}/rest/api/3/bulk/issues/delete {"selectedIssueIdsOrKeys":["A-1"]}
    POST ${base}/rest/api/3/project/A/delete
    PUT ${base}/rest/api/3/version/1/mergeto/2
    POST ${base}/rest/api/3/field/customfield_1/trash`,
})

export const forWork: Record<string, AccessRows> = {
  airtable: {
    read: `
      GET https://api.airtable.com/v0/app1/Tasks
      POST /v0/app1/Tasks/listRecords {"filterByFormula":"Name"}`,
    write: `
      POST https://api.airtable.com/v0/app1/Tasks {"records":[]}
      PATCH /v0/app1/Tasks {"records":[]}
      GET /v0/bases/app1/webhooks/ach1/payloads
      POST https://content.airtable.com/v0/app1/rec1/fld1/uploadAttachment {}`,
    destructive: `
      DELETE https://api.airtable.com/v0/app1/Tasks?records[]=rec1
      PUT /v0/app1/Tasks {"records":[]}
      PUT /v0/app1/Tasks/rec1 {"fields":{}}`,
  },
  asana: {
    read: `
      GET https://app.asana.com/api/1.0/tasks/1
      POST /api/1.0/batch {"data":{"actions":[{"method":"get","relative_path":"/tasks/1"}]}}`,
    write: `
      POST https://app.asana.com/api/1.0/tasks {"data":{"name":"a"}}
      POST /api/1.0/batch {"data":{"actions":[{"method":"get","relative_path":"/tasks/1"},{"method":"post","relative_path":"/tasks"}]}}`,
    destructive: `
      DELETE https://app.asana.com/api/1.0/tasks/1
      POST /api/1.0/workspaces/1/removeUser {"data":{"user":"2"}}
      POST /api/1.0/tasks/1 {"options":{"method":"delete"}}
      POST /api/1.0/tasks/1 opt_method=delete
      POST /api/1.0/batch {"data":{"actions":[{"method":"post","relative_path":"/workspaces/1/removeUser"}]}}
      POST /api/1.0/batch {"data":{"actions":[{"method":"delete","relative_path":"/tasks/1"}]}}`,
  },
  atlassian: jira('https://api.atlassian.com/ex/jira/c1', 'https://api.atlassian.com/ex/confluence/c1'),
  clickup: {
    read: 'GET https://api.clickup.com/api/v2/list/1/task',
    write: `
      POST https://api.clickup.com/api/v2/list/1/task {"name":"a"}
      PUT /api/v2/task/1 {"archived":true}`,
    destructive: 'DELETE https://api.clickup.com/api/v2/task/1',
  },
  figma: {
    read: 'GET https://api.figma.com/v1/files/abc',
    write: 'POST https://api.figma.com/v1/files/abc/comments {"message":"a"}',
    destructive: 'DELETE https://api.figma.com/v1/files/abc/comments/1',
  },
  hubspot: {
    read: `
      GET https://api.hubapi.com/crm/v3/objects/contacts
      POST /crm/v3/objects/contacts/search {"filterGroups":[]}
      POST /crm/v3/objects/contacts/batch/read {"inputs":[]}
      POST /crm/v4/associations/contacts/companies/batch/read {"inputs":[]}
      POST /cms/v3/blogs/posts/batch/read {"inputs":["1"]}
      POST /cms/hubdb/2026-03/tables/1/rows/draft/batch/read {"inputs":["1"]}
      POST /collector/graphql {"query":"{ CRM { contact_collection { total } } }"}`,
    write: `
      POST https://api.hubapi.com/crm/v3/objects/contacts {"properties":{}}
      POST /crm/v3/objects/contacts/batch/update {"inputs":[]}
      POST /cms/v3/other/things/batch/read {"inputs":["1"]}
      POST /cms/v3/source-code/draft/content/batch/read {}
      POST /cms/source-code/2026-03/draft/content/batch/read {}`,
    destructive: `
      DELETE https://api.hubapi.com/crm/v3/objects/contacts/1
      POST /crm/v3/objects/contacts/batch/archive {"inputs":[{"id":"1"}]}
      POST /crm/v4/associations/contacts/companies/batch/archive {"inputs":[]}
      POST /crm/associations/2026-03/contacts/companies/batch/labels/archive {"inputs":[]}
      POST /crm/objects/2026-03/contacts/merge {"primaryObjectId":"1","objectIdToMerge":"2"}
      POST /crm/v3/objects/contacts/gdpr-delete {"objectId":"1"}
      POST /crm/v3/objects/contacts/merge {"primaryObjectId":"1","objectIdToMerge":"2"}`,
  },
  intercom: {
    read: `
      GET https://api.intercom.io/contacts/1
      POST /contacts/search {"query":{}}
      POST https://api.eu.intercom.io/conversations/search {"query":{}}
      POST /companies/list {}`,
    write: `
      POST https://api.intercom.io/contacts {"email":"a@example.com"}
      POST /contacts/1/archive
      POST /conversations/1/reply {"body":"delete"}`,
    destructive: `
      DELETE https://api.intercom.io/contacts/1
      POST /contacts/merge {"from":"1","into":"2"}
      POST /conversations/redact {"type":"conversation_part"}`,
  },
  jira: jira('https://acme.atlassian.net', 'https://acme.atlassian.net'),
  linear: {
    read: `
      POST https://api.linear.app/graphql {"query":"{ issues { nodes { id archivedAt } } }"}
      GET https://uploads.linear.app/a/b`,
    write: `
      POST https://api.linear.app/graphql {"query":"mutation { issueCreate(input: {}) { success } }"}
      POST /graphql {"query":"mutation { issueUnarchive(id: 1) { success } }"}`,
    destructive: `
      POST https://api.linear.app/graphql {"query":"mutation { issueDelete(id: 1) { success } }"}
      POST /graphql {"query":"mutation { projectArchive(id: 1) { success } }"}
      POST /graphql {"query":"mutation { customerMerge(sourceCustomerId: 1, targetCustomerId: 2) { success } }"}`,
  },
  notion: {
    read: `
      GET https://api.notion.com/v1/pages/1
      POST /v1/search {"query":"a"}
      POST /v1/databases/1/query {"filter":{}}
      POST /v1/data_sources/1/query {"filter":{}}
      POST /v1/blocks/meeting_notes/query {"limit":10}`,
    write: `
      POST https://api.notion.com/v1/pages {"properties":{}}
      PATCH /v1/pages/1 {"in_trash":true}
      PATCH /v1/blocks/1/children {"children":[]}`,
    destructive: `
      DELETE https://api.notion.com/v1/blocks/1
      PATCH /v1/pages/1 {"erase_content":true}
      PATCH /v1/pages/1/markdown {"type":"replace_content","replace_content":{"new_str":"a","allow_deleting_content":true}}`,
  },
  salesforce: {
    read: `
      GET https://acme.my.salesforce.com/services/data/v62.0/query?q=SELECT+Id+FROM+Account
      POST /services/data/v62.0/parameterizedSearch {"q":"a"}
      POST /services/data/v62.0/graphql {"query":"{ uiapi { query { Account { edges { node { Id } } } } } }"}
      POST /services/data/v62.0/composite/batch {"batchRequests":[{"method":"GET","url":"v62.0/sobjects/Account/1"}]}`,
    write: `
      POST https://acme.my.salesforce.com/services/data/v62.0/sobjects/Account {"Name":"a"}
      GET /services/apexrest/close-all-cases
      POST /services/data/v62.0/jobs/ingest {"object":"Account","operation":"insert"}
      POST /services/data/v62.0/parameterizedSearch {"q":"a","updateViewStat":"true"}
      GET /services/data/v62.0/parameterizedSearch?q=a&updateTracking=true
      POST /services/data/v62.0/composite/sobjects {"records":[]}
      POST /services/data/v62.0/graphql {"query":"mutation { uiapi { AccountCreate(input: {}) { Record { Id } } } }"}`,
    destructive: `
      DELETE https://acme.my.salesforce.com/services/data/v62.0/sobjects/Account/1
      POST /services/data/v62.0/jobs/ingest {"object":"Account","operation":"hardDelete"}
      POST /services/async/62.0/job <jobInfo><operation>delete</operation></jobInfo> @content-type: application/xml
      POST /services/data/v62.0/graphql {"query":"mutation { uiapi { AccountDelete(input: {}) { Id } } }"}
      POST /services/data/v62.0/composite {"compositeRequest":[{"method":"DELETE","url":"/services/data/v62.0/sobjects/Account/1"}]}`,
  },
  trello: {
    read: 'GET https://api.trello.com/1/boards/1',
    write: `
      POST https://api.trello.com/1/cards?idList=1
      PUT /1/cards/1?closed=true`,
    destructive: 'DELETE https://api.trello.com/1/cards/1',
  },
  zendesk: {
    read: `
      GET https://acme.zendesk.com/api/v2/search.json?query=a
      POST /api/v2/views/preview.json {"view":{}}
      POST /api/v2/custom_objects/cars/records/search {"filter":{}}`,
    write: `
      POST https://acme.zendesk.com/api/v2/tickets.json {"ticket":{"comment":{"body":"delete"}}}
      PUT /api/v2/tickets/1.json {"ticket":{"status":"solved"}}
      GET /api/v2/users/me/session/renew
      GET /api/v2/views/1/export.json
      POST /api/v2/custom_objects/cars/jobs {"job":{"action":"create","items":[]}}`,
    destructive: `
      DELETE https://acme.zendesk.com/api/v2/tickets/1.json
      DELETE /api/v2/tickets/destroy_many.json?ids=1
      PUT /api/v2/tickets/1/comments/2/redact.json {"text":"a"}
      PUT /api/v2/comment_redactions/2.json {"ticket_id":1}
      POST /api/v2/custom_objects/cars/jobs {"job":{"action":"delete","items":["1"]}}`,
  },
}
