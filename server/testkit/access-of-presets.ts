/**
 * What calls of each preset do, from the vendor's reference. A line is a method and a URL, or a path at the host of the line
 * before; what follows is the body: JSON, a form, or after `@` a header (`@X-Amz-Target: …`).
 */
import { forAi } from './access-of-ai.ts'
import { forClouds } from './access-of-clouds.ts'
import { forWork } from './access-of-work.ts'
import type { AccessRows } from './access-rows.ts'

export const accessOfPresets: Record<string, AccessRows> = {
  ...forAi,
  ...forClouds,
  ...forWork,
  bitbucket: {
    read: `
      GET https://api.bitbucket.org/2.0/repositories/w/r
      POST /2.0/repositories/w/r/commits include=main&exclude=old
      GET https://bitbucket.org/w/r.git/info/refs?service=git-upload-pack
      POST /w/r.git/git-upload-pack 0032want @content-type: application/x-git-upload-pack-request`,
    write: `
      POST https://api.bitbucket.org/2.0/repositories/w/r/pullrequests {}
      POST https://bitbucket.org/w/r.git/git-receive-pack 0094old @content-type: application/x-git-receive-pack-request`,
    destructive: 'DELETE https://api.bitbucket.org/2.0/repositories/w/r',
  },
  discord: {
    read: 'GET https://discord.com/api/v10/channels/1/messages',
    write: `
      POST https://discord.com/api/v10/channels/1/messages {"content":"a"}
      PUT /api/v10/channels/1/messages/2/reactions/x/@me
      PUT /api/v10/guilds/1/bans/2 {}`,
    destructive: `
      DELETE https://discord.com/api/v10/channels/1/messages/2
      POST /api/v10/channels/1/messages/bulk-delete {"messages":["1"]}
      POST /api/v10/guilds/1/prune {"days":7}
      PUT /api/v10/guilds/1/bans/2 {"delete_message_seconds":60}
      POST /api/v10/guilds/1/bulk-ban {"user_ids":["2"],"delete_message_seconds":60}`,
  },
  dropbox: {
    read: `
      POST https://api.dropboxapi.com/2/files/list_folder {"path":""}
      POST /2/files/list_folder/continue {"cursor":"c"}
      POST /2/files/search_v2 {"query":"a"}
      POST /2/files/delete_batch/check {"async_job_id":"j"}
      POST /2/users/get_current_account
      POST /2/sharing/list_folders/continue {"cursor":"c"}
      POST https://content.dropboxapi.com/2/files/download
      GET /2/files/download?arg=x`,
    write: `
      POST https://content.dropboxapi.com/2/files/upload a @content-type: application/octet-stream
      GET /2/files/upload?arg=x
      POST https://api.dropboxapi.com/2/files/move_v2 {"from_path":"/a","to_path":"/b"}
      POST /2/files/copy_reference/get {"path":"/a"}
      POST /2/files/something_new {}
      GET /2/files/something_new`,
    destructive: `
      POST https://api.dropboxapi.com/2/files/delete_v2 {"path":"/a"}
      POST /2/files/delete_batch {"entries":[]}
      POST /2/files/permanently_delete {"path":"/a"}
      POST /2/file_properties/templates/remove_for_user {"template_id":"ptid:1"}
      POST /2/team/members/remove {}`,
  },
  github: {
    read: `
      GET https://api.github.com/repos/o/r/issues
      POST /graphql {"query":"{ viewer { login } }"}
      POST /markdown {"text":"a"}
      GET https://github.com/o/r.git/info/refs?service=git-upload-pack
      POST /o/r.git/git-upload-pack 0032want @content-type: application/x-git-upload-pack-request
      POST /o/r.git/git-receive-pack 0000 @content-type: application/x-git-receive-pack-request`,
    write: `
      POST https://api.github.com/repos/o/r/issues {"title":"delete"}
      PUT /repos/o/r/pulls/1/merge
      PATCH /repos/o/r {"archived":true}
      PUT /user/starred/o/graphql {"query":"{ a }"}
      POST /graphql {"query":"mutation { addComment(input: {}) { clientMutationId } }"}
      POST https://github.com/o/r.git/git-receive-pack 0094old @content-type: application/x-git-receive-pack-request
      POST https://uploads.github.com/repos/o/r/releases/1/assets a @content-type: application/zip`,
    destructive: `
      DELETE https://api.github.com/repos/o/r
      DELETE /repos/graphql/graphql
      DELETE /repos/o/r/git/refs/heads/main
      POST /orgs/o/attestations/delete-request {"subject_digests":[]}
      POST /graphql {"query":"mutation { deleteRef(input: {}) { clientMutationId } }"}
      POST /graphql {"query":"mutation { updateRefs(input: {}) { clientMutationId } }"}`,
  },
  gitlab: {
    read: `
      GET https://gitlab.com/api/v4/projects/group%2Fproject/issues
      POST /api/v4/markdown {"text":"a"}
      POST /group/sub/project.git/git-upload-pack 0032want @content-type: application/x-git-upload-pack-request`,
    write: `
      POST https://gitlab.com/api/v4/projects/group%2Fproject/issues {"title":"a"}
      GET /api/v4/projects/1/merge_requests/2/merge_ref
      POST /api/v4/projects/1/ci/lint {"content":"include: https://example.com/$A"}
      POST /api/v4/projects/1/repository/commits {"actions":[]}
      POST /group/project.git/git-receive-pack 0094old @content-type: application/x-git-receive-pack-request
      POST /api/v4/projects/1/repository/files/git-upload-pack?branch=main&content=a @content-type: application/x-git-upload-pack-request`,
    destructive: `
      DELETE https://gitlab.com/api/v4/projects/1
      POST /api/v4/projects/1/jobs/2/erase
      POST /api/v4/projects/1/housekeeping task=prune`,
  },
  google: {
    read: `
      GET https://gmail.googleapis.com/gmail/v1/users/me/messages?q=a
      POST https://www.googleapis.com/calendar/v3/freeBusy {"items":[]}
      GET https://www.googleapis.com/drive/v3/files
      GET https://sheets.googleapis.com/v4/spreadsheets/1/values:batchGet?ranges=A1
      POST /v4/spreadsheets/1/values:batchGetByDataFilter {"dataFilters":[]}
      POST https://driveactivity.googleapis.com/v2/activity:query {}`,
    write: `
      POST https://gmail.googleapis.com/gmail/v1/users/me/messages/send {"raw":"a"}
      POST /gmail/v1/users/me/messages/1/trash
      POST /gmail/v1/users/me/messages/batchModify {"ids":["1"]}
      PATCH https://www.googleapis.com/drive/v3/files/1 {"trashed":true}
      PUT https://sheets.googleapis.com/v4/spreadsheets/1/values/A1 {"values":[["deleteSheet"]]}
      POST /v4/spreadsheets/1:batchUpdate {"requests":[{"addSheet":{}}]}`,
    destructive: `
      DELETE https://gmail.googleapis.com/gmail/v1/users/me/messages/1
      POST /gmail/v1/users/me/messages/batchDelete {"ids":["1"]}
      DELETE https://www.googleapis.com/drive/v3/files/1
      DELETE /drive/v3/files/trash
      POST /calendar/v3/calendars/primary/clear
      POST https://people.googleapis.com/v1/people:batchDeleteContacts {"resourceNames":[]}
      POST https://www.googleapis.com/youtube/v3/watermarks/unset?channelId=1
      POST https://sheets.googleapis.com/v4/spreadsheets/1/values/A1:B2:clear
      POST /v4/spreadsheets/1/values:batchClear {"ranges":["A1"]}
      POST /v4/spreadsheets/1/values:batchClearByDataFilter {"dataFilters":[]}
      POST /v4/spreadsheets/1:batchUpdate {"requests":[{"deleteSheet":{"sheetId":1}}]}
      POST /v4/spreadsheets/1:batchUpdate {"requests":[{"deleteDimension":{"range":{}}}]}`,
  },
  mailgun: {
    read: `
      GET https://api.mailgun.net/v3/example.com/events
      POST https://api.eu.mailgun.net/v1/analytics/metrics {"metrics":["sent_count"]}`,
    write: 'POST https://api.mailgun.net/v3/example.com/messages to=a%40example.com&text=delete',
    destructive: 'DELETE https://api.mailgun.net/v3/lists/a@example.com',
  },
  microsoft: {
    read: `
      GET https://graph.microsoft.com/v1.0/me/messages
      POST /v1.0/search/query {"requests":[{"entityTypes":["message"]}]}
      POST /v1.0/me/calendar/getSchedule {"schedules":[]}
      POST /v1.0/me/getMemberGroups {"securityEnabledOnly":false}
      POST /v1.0/me/findMeetingTimes {"attendees":[]}
      POST /v1.0/$batch {"requests":[{"id":"1","method":"GET","url":"/me"}]}`,
    write: `
      POST https://graph.microsoft.com/v1.0/me/sendMail {"message":{}}
      POST /v1.0/me/messages/1/move {"destinationId":"deleteditems"}
      PATCH /v1.0/me/messages/1 {"isRead":true}
      POST /v1.0/$batch {"requests":[{"id":"1","method":"POST","url":"/me/sendMail"}]}`,
    destructive: `
      DELETE https://graph.microsoft.com/v1.0/me/messages/1
      POST /v1.0/me/messages/1/permanentDelete
      POST /v1.0/me/drive/items/1/microsoft.graph.permanentDelete
      POST /v1.0/me/drive/items/1/workbook/worksheets/a/range/delete {"shift":"Up"}
      POST /v1.0/me/drive/items/1/workbook/worksheets/a/range(address='A1')/clear {"applyTo":"Contents"}
      POST /v1.0/deviceManagement/managedDevices/1/wipe
      POST /v1.0/users/1/managedDevices/1/microsoft.graph.cleanWindowsDevice {"keepUserData":false}
      POST /v1.0/$batch {"requests":[{"id":"1","method":"DELETE","url":"/me/messages/1"}]}`,
  },
  'npm-registry': {
    read: `
      GET https://registry.npmjs.org/fastify
      POST /-/npm/v1/security/advisories/bulk {"fastify":["1.0.0"]}`,
    write: `
      PUT https://registry.npmjs.org/a {"name":"a"}
      POST /-/npm/v1/security/audits {"requires":{}}`,
    destructive: 'DELETE https://registry.npmjs.org/a/-rev/1',
  },
  postmark: {
    read: `
      GET https://api.postmarkapp.com/messages/outbound
      POST /templates/validate {"Subject":"a"}`,
    write: `
      POST https://api.postmarkapp.com/email {"To":"a@example.com"}
      PUT /bounces/1/activate`,
    destructive: `
      DELETE https://api.postmarkapp.com/templates/1
      POST /message-streams/outbound/suppressions/delete {"Suppressions":[]}
      POST /message-streams/news/archive
      POST /data-removals {"RequestedFor":"a@example.com"}`,
  },
  resend: {
    read: 'GET https://api.resend.com/emails/1',
    write: `
      POST https://api.resend.com/emails {"to":"a@example.com"}
      POST /emails/1/cancel`,
    destructive: 'DELETE https://api.resend.com/audiences/1/contacts/2',
  },
  sendgrid: {
    read: `
      GET https://api.sendgrid.com/v3/templates
      POST https://api.eu.sendgrid.com/v3/marketing/contacts/search {"query":"a"}`,
    write: `
      POST https://api.sendgrid.com/v3/mail/send {"personalizations":[]}
      GET /api/mail.send.json?to=a%40example.com`,
    destructive: `
      DELETE https://api.sendgrid.com/v3/marketing/contacts?ids=1
      GET /api/bounces.delete.json?email=a%40example.com
      POST /api/newsletter/lists/delete.json list=a`,
  },
  shopify: {
    read: `
      GET https://shop.myshopify.com/admin/api/2026-01/products.json
      POST /admin/api/2026-01/graphql.json {"query":"{ products(first: 1) { nodes { id } } }"}`,
    write: `
      POST https://shop.myshopify.com/admin/api/2026-01/products.json {"product":{}}
      POST /admin/api/2026-01/graphql.json {"query":"mutation { productUpdate(input: {}) { product { id } } }"}
      POST /admin/api/2026-01/orders/1/close.json`,
    destructive: `
      DELETE https://shop.myshopify.com/admin/api/2026-01/products/1.json
      POST /admin/api/2026-01/graphql.json {"query":"mutation { productDelete(input: {}) { deletedProductId } }"}
      POST /admin/api/2026-01/graphql.json {"query":"mutation { customerRequestDataErasure(customerId: 1) { customerId } }"}
      POST /admin/api/2026-01/graphql.json {"query":"mutation { orderCancel(orderId: 1) { job { id } } }"}
      POST /admin/api/2026-01/orders/1/cancel.json
      POST /admin/api/2026-01/gift_cards/1/disable.json`,
  },
  slack: {
    read: `
      GET https://slack.com/api/conversations.list
      POST /api/conversations.list limit=10
      POST /api/conversations.history {"channel":"C1"}
      GET /api/auth.test
      POST /api/search.messages query=delete
      GET https://files.slack.com/files-pri/T1-F1/a.png
      GET /files-tmb/T1-F1-abc/a_360.png`,
    write: `
      POST https://slack.com/api/chat.postMessage {"channel":"C1","text":"delete"}
      GET /api/chat.postMessage?channel=C1&text=a
      GET /api/conversations.archive?channel=C1
      GET /api/something.new
      POST /api/users.profile.set {"profile":{}}
      GET https://files.slack.com/upload/v1/a`,
    destructive: `
      POST https://slack.com/api/chat.delete {"channel":"C1","ts":"1"}
      GET /api/chat.delete?channel=C1&ts=1
      POST /api/files.delete file=F1
      POST /api/admin.conversations.bulkDelete {}
      POST /api/canvases.delete {"canvas_id":"F1"}
      POST /api/chat.deleteScheduledMessage {}
      POST /api/admin.users.remove {}
      POST /api/bookmarks.remove {"channel_id":"C1","bookmark_id":"B1"}`,
  },
  spotify: {
    read: 'GET https://api.spotify.com/v1/me/playlists',
    write: `
      PUT https://api.spotify.com/v1/me/player/play
      POST /v1/playlists/1/tracks {"uris":[]}`,
    destructive: 'DELETE https://api.spotify.com/v1/playlists/1/tracks {"tracks":[]}',
  },
  stripe: {
    read: `
      GET https://api.stripe.com/v1/customers/search?query=a
      POST /v1/invoices/create_preview customer=cus_1`,
    write: `
      POST https://api.stripe.com/v1/refunds charge=ch_1
      POST /v1/customers email=a%40example.com
      POST /v1/invoices/upcoming customer=cus_1
      POST https://files.stripe.com/v1/files a @content-type: multipart/form-data; boundary=b`,
    destructive: `
      DELETE https://api.stripe.com/v1/customers/cus_1
      DELETE /v1/subscriptions/sub_1
      POST /v1/invoices/in_1/void
      POST /v1/payment_methods/pm_1/detach
      POST /v1/identity/verification_sessions/vs_1/redact`,
  },
  telegram: {
    read: `
      GET https://api.telegram.org/{credential}/getMe
      POST /{credential}/getChat {"chat_id":1}
      GET /{credential}/getUpdates?limit=1
      GET /{credential}/test/getMyCommands
      GET /file/{credential}/photos/1.jpg`,
    write: `
      POST https://api.telegram.org/{credential}/sendMessage {"chat_id":1,"text":"delete"}
      GET /{credential}/sendMessage?chat_id=1&text=a
      GET /{credential}/getUpdates?offset=7
      POST /{credential}/getUpdates {"offset":7}
      GET /{credential}/getUpdates?allowed_updates=[]
      GET /{credential}/somethingNew
      GET /{credential}/getSomethingNew`,
    destructive: `
      POST https://api.telegram.org/{credential}/deleteMessage {"chat_id":1}
      GET /{credential}/deleteMessages?chat_id=1
      GET /{credential}/test/deleteMessage
      POST /{credential}/banChatMember {"chat_id":1,"user_id":2}`,
  },
  twilio: {
    read: 'GET https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json',
    write: `
      POST https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json To=%2B1&Body=delete
      POST https://verify.twilio.com/v2/Services/VA1/Verifications To=%2B1&Channel=sms`,
    destructive: 'DELETE https://api.twilio.com/2010-04-01/Accounts/AC1/Recordings/RE1.json',
  },
  zoom: {
    read: `
      GET https://api.zoom.us/v2/users/me/meetings
      POST /v3/graphql {"query":"{ users { edges { id } } }"}`,
    write: `
      POST https://api.zoom.us/v2/users/me/meetings {"topic":"a"}
      PUT /v2/meetings/1/status {"action":"end"}`,
    destructive: 'DELETE https://api.zoom.us/v2/meetings/1',
  },
}
