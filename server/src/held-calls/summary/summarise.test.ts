import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import type { HeaderList } from '../../proxy/upstream.ts'
import { summarise } from './summarise.ts'
import type { Summary } from './summary.ts'

const json: HeaderList = [['content-type', 'application/json']]
const form: HeaderList = [['content-type', 'application/x-www-form-urlencoded']]

interface Given {
  headers?: HeaderList
  preset?: string | null
  access?: AccessClass
}

function summaryOf(method: string, url: string, body?: unknown, given: Given = {}): Summary {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? ''))
  const { headers = json, preset = null, access = 'write' } = given
  return summarise({ method, url: new URL(url), headers, body: body === undefined ? undefined : bytes, preset, access })
}

function sentence(...call: Parameters<typeof summaryOf>): string | null {
  return summaryOf(...call).sentence
}

const github = 'https://api.github.com'
const rocket = `${github}/repos/acme/rocket`

test('what is done at GitHub is said', () => {
  const cases: [string, string, unknown, string | null][] = [
    ['POST', `${rocket}/issues`, { title: 'It’s broken' }, 'Create an issue in “acme/rocket”: “It’s broken”'],
    ['PATCH', `${rocket}/issues/5`, { state: 'closed' }, 'Close issue or pull request #5 in “acme/rocket”'],
    [
      'PATCH',
      `${rocket}/issues/5`,
      { state: 'open', title: 'x' },
      'Reopen issue or pull request #5 in “acme/rocket” and change it',
    ],
    ['PATCH', `${rocket}/issues/5`, { labels: ['a'] }, 'Change issue or pull request #5 in “acme/rocket”'],
    ['POST', `${rocket}/issues/5/comments`, { body: 'Done.' }, 'Comment on #5 in “acme/rocket”: “Done.”'],
    [
      'POST',
      `${rocket}/pulls`,
      { title: 'Fix', head: 'fix', base: 'main' },
      'Open a pull request in “acme/rocket” from “fix” into “main”: “Fix”',
    ],
    ['PUT', `${rocket}/pulls/7/merge`, {}, 'Merge pull request #7 in “acme/rocket”'],
    ['PUT', `${rocket}/pulls/7/merge`, undefined, 'Merge pull request #7 in “acme/rocket”'],
    ['POST', `${rocket}/pulls/7/reviews`, { event: 'APPROVE' }, 'Approve pull request #7 in “acme/rocket”'],
    ['POST', `${rocket}/pulls/7/reviews`, { event: 'SOMETHING' }, null],
    ['DELETE', rocket, undefined, 'Delete the repository “acme/rocket” with everything in it'],
    ['PUT', `${rocket}/collaborators/eve`, { permission: 'admin' }, 'Add “eve” as a collaborator to “acme/rocket”'],
    ['POST', `${rocket}/git/refs`, { ref: 'refs/heads/x', sha: 'a' }, 'Create the branch “x” in “acme/rocket”'],
    ['POST', `${rocket}/git/refs`, { ref: 'refs/tags/v1', sha: 'a' }, 'Create the tag “v1” in “acme/rocket”'],
    [
      'PATCH',
      `${rocket}/git/refs/heads/main`,
      { sha: 'a', force: true },
      'Move the branch “main” in “acme/rocket” to another commit, even if commits are lost',
    ],
    ['DELETE', `${rocket}/git/refs/heads/a/b`, undefined, 'Delete the branch “a/b” in “acme/rocket”'],
    [
      'PUT',
      `${rocket}/contents/docs/a%20b.md`,
      { message: 'Add', content: 'SGk=', branch: 'x' },
      'Create the file “docs/a b.md” on the branch “x” of “acme/rocket”: “Add”',
    ],
    [
      'PUT',
      `${rocket}/contents/a.md`,
      { message: 'Change', content: 'SGk=', sha: '1' },
      'Change the file “a.md” on the default branch of “acme/rocket”: “Change”',
    ],
    ['PUT', `${rocket}/contents/a.md`, { message: 'Change', content: 'not base64' }, null],
    [
      'DELETE',
      `${rocket}/contents/a.md`,
      { message: 'x', sha: '1' },
      'Delete the file “a.md” on the default branch of “acme/rocket”',
    ],
    [
      'POST',
      `${rocket}/actions/workflows/deploy.yml/dispatches`,
      { ref: 'main' },
      'Run the workflow “deploy.yml” on “main” of “acme/rocket”',
    ],
    ['POST', `${rocket}/releases`, { tag_name: 'v1', draft: true }, 'Create the draft release “v1” of “acme/rocket”'],
    [
      'POST',
      `${github}/gists`,
      { public: true, files: { 'a.txt': { content: 'hi' } } },
      'Create a public gist with the file “a.txt”',
    ],
    ['POST', `${github}/user/repos`, { name: 'new', private: true }, 'Create the private repository “new”'],
    ['POST', `${github}/orgs/acme/repos`, { name: 'new' }, 'Create the public repository “new” of “acme”'],
    ['POST', `${github}/user/repos`, { name: 'new', private: 'no' }, null],
  ]
  for (const [method, url, body, expected] of cases)
    assert.equal(sentence(method, url, body), expected, `${method} ${url}`)
})

const gmail = 'https://gmail.googleapis.com/gmail/v1/users/me'
const raw = (message: string) => ({ raw: Buffer.from(message).toString('base64url') })
const invoice =
  'To: Ada <ada@example.com>, bob@example.com\r\nCc: "Eve, X" <eve@example.com>\r\nSubject: Invoice 42\r\n\r\nHello'

test('what is done with e-mails is said', () => {
  const upload = 'https://gmail.googleapis.com/upload/gmail/v1/users/me/messages/send?uploadType=media'
  const graph = 'https://graph.microsoft.com/v1.0/me'
  const toRecipients = [{ emailAddress: { address: 'ada@example.com' } }]
  const mail = { subject: 'Invoice 42', body: { contentType: 'Text', content: 'Hello' }, toRecipients }
  const mime = { headers: [['content-type', 'text/plain']] as HeaderList }
  const cases: [string, string, unknown, string | null, Given?][] = [
    ['POST', `${gmail}/messages/send`, raw(invoice), 'Send an e-mail to ada@example.com and 2 others: “Invoice 42”'],
    [
      'POST',
      `${gmail}/messages/send?alt=json`,
      raw(invoice),
      'Send an e-mail to ada@example.com and 2 others: “Invoice 42”',
    ],
    ['POST', `${gmail}/messages/send?uploadType=media`, raw(invoice), null],
    ['POST', `${gmail}/messages/send?unknown=1`, raw(invoice), null],
    ['POST', `${gmail}/messages/send`, { ...raw(invoice), RAW: 'x' }, null],
    ['POST', `${gmail}/messages/send`, raw('To: a@example.com\n\n'), 'Send an e-mail to a@example.com: no subject'],
    [
      'POST',
      upload,
      invoice,
      'Send an e-mail to ada@example.com and 2 others: “Invoice 42”',
      { headers: [['content-type', 'message/rfc822']] },
    ],
    ['POST', upload, invoice, null, { headers: [['content-type', 'multipart/related; boundary=x']] }],
    ['POST', `${gmail}/drafts/send`, { id: 'r1' }, 'Send the draft “r1” as an e-mail'],
    [
      'POST',
      `${gmail}/drafts/send`,
      { message: raw(invoice) },
      'Send a draft to ada@example.com and 2 others: “Invoice 42”',
    ],
    [
      'POST',
      `${gmail}/drafts`,
      { message: raw(invoice) },
      'Write a draft to ada@example.com and 2 others: “Invoice 42”',
    ],
    ['POST', `${gmail}/messages/m1/trash`, undefined, 'Move the e-mail “m1” to the trash'],
    ['DELETE', `${gmail}/messages/m1`, undefined, 'Delete the e-mail “m1” forever'],
    ['POST', `${gmail}/messages/batchDelete`, { ids: ['a', 'b'] }, 'Delete forever 2 e-mails'],
    ['POST', `${gmail}/messages/m1/modify`, { addLabelIds: ['SPAM'] }, 'Change the labels of the e-mail “m1”'],
    [
      'POST',
      'https://gmail.googleapis.com/gmail/v1/users/ada@example.com/messages/m1/trash',
      undefined,
      'Move the e-mail “m1” to the trash as ada@example.com',
    ],
    ['POST', `${graph}/sendMail`, { message: mail }, 'Send an e-mail to ada@example.com: “Invoice 42”'],
    [
      'POST',
      `${graph}/sendMail`,
      { Message: { ...mail, bccRecipients: toRecipients } },
      'Send an e-mail to ada@example.com: “Invoice 42”',
    ],
    ['POST', `${graph}/sendMail`, { message: mail, Message: mail }, null],
    ['POST', `${graph}/sendMail`, { message: { ...mail, toRecipients: ['ada'] } }, null],
    [
      'POST',
      `${graph}/sendMail`,
      Buffer.from(invoice).toString('base64'),
      'Send an e-mail to ada@example.com and 2 others: “Invoice 42”',
      mime,
    ],
    [
      'POST',
      'https://graph.microsoft.com/v1.0/users/bob@example.com/sendMail',
      { message: mail },
      'Send an e-mail as bob@example.com to ada@example.com: “Invoice 42”',
    ],
    ['POST', `${graph}/messages/AA=/reply`, { comment: 'Yes' }, 'Answer the e-mail “AA=”'],
    [
      'POST',
      `${graph}/messages/AA=/reply`,
      { message: { toRecipients } },
      'Answer the e-mail “AA=”, with 1 recipients that the call names',
    ],
    ['POST', `${graph}/messages/AA=/reply`, Buffer.from(invoice).toString('base64'), null, mime],
    ['POST', `${graph}/messages/AA=/forward`, { toRecipients }, 'Forward the e-mail “AA=” to ada@example.com'],
    ['DELETE', `${graph}/messages/AA=`, undefined, 'Delete the e-mail “AA=”'],
  ]
  for (const [method, url, body, expected, given] of cases) {
    assert.equal(sentence(method, url, body, given), expected, `${method} ${url} ${JSON.stringify(body)}`)
  }
})

test('what is done in Slack is said', () => {
  const api = 'https://slack.com/api'
  const files = [{ id: 'F1', title: 'plan.pdf' }]
  const cases: [string, unknown, string | null, Given?][] = [
    ['chat.postMessage', { channel: 'C1', text: 'Hi' }, 'Post a message to “C1” in Slack: “Hi”'],
    ['chat.postMessage', 'channel=C1&text=Hi+there', 'Post a message to “C1” in Slack: “Hi there”', { headers: form }],
    ['chat.postMessage', 'channel=C1&text=Hi&channel=C2', null, { headers: form }],
    ['chat.postMessage', '{"channel":"C1","text":"Hi","channel":"C2"}', null],
    ['chat.postMessage', { channel: 'C1', text: 'Hi', blocks: [] }, 'Post a message to “C1” in Slack, with a layout'],
    ['chat.postMessage', { channel: 'C1' }, null],
    ['chat.postMessage', { channel: 'C1', text: 'Hi' }, null, { headers: [['content-type', 'text/plain']] }],
    ['chat.postMessage?channel=C2', { channel: 'C1', text: 'Hi' }, null],
    ['chat.update', { channel: 'C1', ts: '1.2', text: 'Hi' }, 'Change a message in “C1” in Slack: “Hi”'],
    ['chat.delete', { channel: 'C1', ts: '1.2' }, 'Delete a message in “C1” in Slack'],
    ['files.completeUploadExternal', { files, channel_id: 'C1' }, 'Share the file “plan.pdf” to “C1” in Slack'],
    [
      'files.completeUploadExternal',
      `files=${encodeURIComponent(JSON.stringify(files))}`,
      'Upload the file “plan.pdf” to Slack',
      { headers: form },
    ],
    ['conversations.invite', { channel: 'C1', users: 'U1,U2' }, 'Invite “U1” and 1 more to the channel “C1” in Slack'],
    ['conversations.kick', { channel: 'C1', user: 'U1' }, 'Remove “U1” from the channel “C1” in Slack'],
    ['conversations.archive', { channel: 'C1' }, 'Archive the channel “C1” in Slack'],
    [
      'reactions.add',
      { channel: 'C1', name: 'eyes', timestamp: '1.2' },
      'React with “eyes” to a message in “C1” in Slack',
    ],
    ['users.unheard.of', { a: 1 }, 'POST /api/users.unheard.of at slack.com'],
  ]
  for (const [method, body, expected, given] of cases) {
    assert.equal(sentence('POST', `${api}/${method}`, body, given), expected, `${method} ${JSON.stringify(body)}`)
  }
})

test('every other call is named as it is, unless it contains other calls', () => {
  const cases: [string, string, string | null, Given?][] = [
    ['DELETE', 'https://api.stripe.com/v1/customers/cus_1', 'Delete /v1/customers/cus_1 at api.stripe.com'],
    ['PATCH', `${github}/repos/acme/rocket/elsewhere`, 'PATCH /repos/acme/rocket/elsewhere at api.github.com'],
    ['POST', 'https://api.example.com:8443/a%E2%80%AEb?x=1', 'POST /a%E2%80%AEb?… at api.example.com:8443'],
    ['POST', `https://api.example.com/${'a'.repeat(500)}`, `POST /${'a'.repeat(159)}… at api.example.com`],
    ['POST', `${github}/graphql`, null],
    ['POST', 'https://api.example.com/api/GraphQL', null],
    ['POST', 'https://api.example.com/api/graphq%6c', null],
    ['POST', 'https://graph.microsoft.com/v1.0/$batch', null],
    ['POST', 'https://www.googleapis.com/batch/gmail/v1', null],
    ['POST', 'https://git.example.com/graphql', null, { preset: 'github' }],
    ['POST', 'https://api.example.com/a', null, { headers: [['x-http-method-override', 'DELETE']] }],
    ['POST', 'https://api.example.com/a?_method=DELETE', null],
    ['GET', `${github}/repos/acme/rocket/`, 'GET /repos/acme/rocket/ at api.github.com'],
    // What a server could decode twice or resolve is not taken for a repository's name.
    ['DELETE', `${github}/repos/acme/ro%2563ket`, 'Delete /repos/acme/ro%2563ket at api.github.com'],
    ['DELETE', `${github}/repos/acme/ro%2Fcket`, 'Delete /repos/acme/ro%2Fcket at api.github.com'],
    ['DELETE', `${github}/repos//acme/rocket`, 'Delete /repos//acme/rocket at api.github.com'],
  ]
  for (const [method, url, expected, given] of cases) {
    assert.equal(sentence(method, url, undefined, given), expected, `${method} ${url}`)
  }
  assert.equal(sentence('POST', 'https://api.example.com/a', '_method=DELETE', { headers: form }), null)
  assert.equal(sentence('POST', `${rocket}/issues`, { title: 'x', _method: 'DELETE' }), null)
})

test('the details have what the sentence leaves out', () => {
  const { details } = summaryOf('POST', `${gmail}/messages/send`, raw(invoice.replace('Hello', 'a\r\nb')))
  assert.deepEqual(details, [
    { name: 'To', value: 'ada@example.com\nbob@example.com' },
    { name: 'Cc', value: 'eve@example.com' },
    { name: 'Subject', value: 'Invoice 42' },
    { name: 'Text', value: 'a\nb' },
  ])
  const issue = summaryOf('POST', `${rocket}/issues`, { title: 'x'.repeat(200), 'To\u202e': 'ada', labels: ['a'] })
  assert.equal(issue.sentence, `Create an issue in “acme/rocket”: “${'x'.repeat(80)}”…`)
  assert.deepEqual(issue.details, [
    { name: 'Title', value: 'x'.repeat(200) },
    { name: '“To\\u202e”', value: 'ada' },
    { name: '“labels”', value: '["a"]' },
  ])
  const { details: parameters } = summaryOf('POST', 'https://api.example.com/a?b=%E2%80%AE&c=1')
  assert.deepEqual(parameters, [
    { name: 'Parameter “b”', value: '\\u202e' },
    { name: 'Parameter “c”', value: '1' },
  ])
})

test('a repeat has a scope only where the sentence knows what must be equal', () => {
  const slack = 'https://slack.com/api/chat.postMessage'
  const scope = (...call: Parameters<typeof summaryOf>) => summaryOf(...call).repeatScope
  assert.equal(scope('POST', slack, { channel: 'C1', text: 'Hi' }), 'the channel “C1”')
  assert.equal(scope('POST', slack, { channel: 'C1', text: 'Hi' }, { access: 'destructive' }), null)
  assert.equal(scope('POST', slack, { channel: 'c'.repeat(81), text: 'Hi' }), null, 'a name that is cut')
  assert.equal(scope('POST', `${rocket}/issues`, { title: 'x' }), 'the same path')
  assert.equal(scope('DELETE', rocket), null)
  assert.equal(scope('POST', `${github}/graphql`, { query: 'mutation { a }' }), null)
  assert.equal(scope('POST', 'https://api.example.com/a', { a: 1 }), null)
  const recipients = 'the recipients “ada@example.com”, “bob@example.com”, “eve@example.com”'
  assert.equal(scope('POST', `${gmail}/messages/send`, raw(invoice)), recipients)
  const others = summaryOf('POST', `${gmail}/messages/send`, raw(invoice.replace('bob@', 'bo@')))
  assert.notEqual(others.repeatScope, recipients)
  const from = (more: string) => scope('POST', `${gmail}/messages/send`, raw(`${more}\r\n${invoice}`))
  assert.equal(from('From: me@example.com'), `${recipients}; the sender “me@example.com”`)
  assert.equal(from('Reply-To: mallory@example.com'), `${recipients}; answers to “mallory@example.com”`)
  const many = Array.from({ length: 30 }, (_, at) => `a${at}@example.com`).join(', ')
  assert.equal(scope('POST', `${gmail}/messages/send`, raw(`To: ${many}\n\n`)), null)
})

test('for every call, the sentence is bounded and has no character that misleads', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ unit: 'grapheme', maxLength: 300 }))
  const value = fc.oneof(text, fc.jsonValue(), fc.constant(true))
  const names = ['title', 'body', 'state', 'head', 'base', 'ref', 'message', 'content', 'channel', 'text', 'raw', 'ids']
  const members = fc.dictionary(fc.oneof(fc.constantFrom(...names, 'users', 'toRecipients', 'comment'), text), value)
  const body = fc.oneof(
    members.map((one) => Buffer.from(JSON.stringify(one))),
    text.map((one) =>
      Buffer.from(JSON.stringify({ raw: Buffer.from(`To: a@b.c\nSubject: ${one}\n\n`).toString('base64url') })),
    ),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  )
  const places = [
    `${rocket}/issues`,
    `${rocket}/pulls`,
    `${rocket}/contents/`,
    `${rocket}/git/refs/heads/`,
    `${gmail}/messages/send`,
    'https://slack.com/api/chat.postMessage',
    'https://graph.microsoft.com/v1.0/me/messages/A/forward',
    'https://api.example.com/',
  ]
  const end = fc.oneof(
    fc.constant(''),
    text.map((one) => encodeURIComponent(one.toWellFormed())),
  )
  fc.assert(
    fc.property(
      fc.constantFrom('POST', 'PUT', 'DELETE', 'PATCH'),
      fc.constantFrom(...places),
      end,
      body,
      fc.constantFrom(json, form, []),
      (method, place, path, bytes, headers) => {
        const { sentence: said, details, repeatScope } = summaryOf(method, `${place}${path}`, bytes, { headers })
        const misleading = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
        for (const one of [said ?? '', repeatScope ?? '']) assert.doesNotMatch(one, misleading)
        assert.ok((said ?? '').length <= 400)
        for (const { name, value: shown } of details) {
          assert.doesNotMatch(name + shown.replaceAll('\n', ''), misleading)
          assert.ok(shown.length <= 10_001 && name.length <= 200)
        }
      },
    ),
    { numRuns: 2000 },
  )
})

test('an agent cannot end its quotation and go on in our words', () => {
  const title = 'x” in “acme/other”: “y'
  const { sentence: said } = summaryOf('POST', `${rocket}/issues`, { title })
  assert.equal(said, 'Create an issue in “acme/rocket”: “x\\u201d in \\u201cacme/other\\u201d: \\u201cy”')
  const subject = Buffer.from('=?utf-8?q?Hi=E2=80=9D_and_nobody_else?=').toString()
  const mail = raw(`To: ada@example.com, bob@example.com\nSubject: ${subject}\n\n`)
  assert.equal(
    sentence('POST', `${gmail}/messages/send`, mail),
    'Send an e-mail to ada@example.com and 1 other: “Hi\\u201d and nobody else”',
  )
})
