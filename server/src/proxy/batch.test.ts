import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ServiceError } from '../platform/errors.ts'
import { judgeCall } from '../../testkit/policies.ts'
import type { HeaderList } from './upstream.ts'

const google = 'https://www.googleapis.com/batch/gmail/v1'
const graph = 'https://graph.microsoft.com/v1.0/$batch'
const asana = 'https://app.asana.com/api/1.0/batch'
const salesforce = 'https://acme.my.salesforce.com/services/data/v60.0'

const json: HeaderList = [['content-type', 'application/json']]
const mixed: HeaderList = [['content-type', 'multipart/mixed; boundary="=b="']]

type Body = string | Buffer | object

function call(url: string, given: Body, headers: HeaderList | undefined): void {
  const body = typeof given === 'string' || Buffer.isBuffer(given) ? given : JSON.stringify(given)
  judgeCall(url, { body, headers: headers ?? (url.startsWith(google) ? mixed : json) })
}

function allows(url: string, body: Body, headers?: HeaderList): void {
  assert.doesNotThrow(
    () => {
      call(url, body, headers)
    },
    `${url} ${JSON.stringify(body).slice(0, 300)}`,
  )
}

/** `why`: that it could not be read, and the reason. Otherwise for what it does. */
function refuses(url: string, body: Body, why?: RegExp, headers?: HeaderList): void {
  const isIt = ({ code, publicMessage = '' }: ServiceError) =>
    code === 'credential_endpoint' &&
    (why ? /can't be checked/.test(publicMessage) && why.test(publicMessage) : /asks for/.test(publicMessage))
  assert.throws(
    () => {
      call(url, body, headers)
    },
    isIt,
    `${url} ${JSON.stringify(body).slice(0, 300)}`,
  )
}

const part = (request: string, headers = 'Content-Type: application/http') =>
  `--=b=\r\n${headers}\r\nContent-ID: <1>\r\n\r\n${request}\r\n`
const parts = (...requests: string[]) => `${requests.map((request) => part(request)).join('')}--=b=--\r\n`
const requestsOf = (...requests: object[]) => ({ requests })
const batchOf = (...calls: object[]) => ({ batchRequests: calls })
const actionsOf = (...actions: object[]) => ({ data: { actions } })

test('a batch with a call to a credential path is found in every notation', () => {
  const delegates = '/gmail/v1/users/me/settings/delegates'
  for (const line of [
    `POST ${delegates} HTTP/1.1`,
    `POST ${delegates}`,
    `post https://www.googleapis.com${delegates}`,
    `POST //www.googleapis.com${delegates}`,
    'POST /gmail/v1/users/me/settings/%64elegates',
    'POST /gmail/v1/users/me/x/../settings/delegates',
    'POST //gmail/v1/users/me/settings/DELEGATES?a=b',
  ]) {
    const harmless = 'GET /gmail/v1/users/me/messages/1'
    refuses(google, parts(harmless, `${line}\r\n\r\n{"a":1}`))
    refuses(google, parts(`\r\n${line}\r\nContent-Type: application/json\r\n\r\n{}`, harmless))
    refuses(google, parts(line).replaceAll('\r\n', '\n'))
  }
  for (const url of [
    '/applications/1/addPassword',
    'applications/1/addPassword',
    '/applications',
    '/v1.0/applications',
    'https://graph.microsoft.com/v1.0/applications',
    '../beta/applications',
    "/applications(appId='1')",
  ]) {
    const body = JSON.stringify(requestsOf({ url: '/me', method: 'GET' }, { id: '1', method: 'POST', url }))
    refuses(graph, body)
    refuses(graph, body.replaceAll('/', '\\/'))
    refuses(graph, body.replaceAll('a', '\\u0061'))
    refuses(graph, body.replace('requests', 'Requests').replaceAll('url', 'Url'))
    refuses(graph, gzipSync(body), undefined, [...json, ['content-encoding', 'gzip']])
  }
  for (const path of ['/webhooks', 'webhooks', '/webhooks/1', '/api/1.0/webhooks']) {
    refuses(asana, actionsOf({ method: 'get', relative_path: '/tasks/1' }, { method: 'post', relative_path: path }))
  }
  for (const url of [
    'v60.0/sobjects/ConnectedApplication',
    '/services/data/v60.0/sobjects/AuthProvider/1',
    'v60.0/sobjects/User/1/password',
    'v60.0/query?q=SELECT+AccessToken+FROM+OauthToken',
    'v60.0/query?q=SELECT+AccessToken+FROM+%4fauthToken',
  ]) {
    refuses(`${salesforce}/composite/batch`, batchOf({ method: 'POST', url }))
    const compositeRequest = [{ method: 'POST', url, referenceId: 'a' }]
    refuses(`${salesforce}/composite`, { compositeRequest })
    refuses(`${salesforce}/composite/graph`, { graphs: [{ graphId: '1', compositeRequest }] })
  }
})

test('each call of a batch counts with its own methods', () => {
  const withMethod = (call: object) => requestsOf({ url: '/me', method: 'POST' }, { url: '/users/1', ...call })
  allows(graph, withMethod({ method: 'GET' }))
  for (const method of ['PATCH', 'patch', ' Patch ', 'MERGE']) refuses(graph, withMethod({ method }))
  refuses(graph, withMethod({}))
  refuses(graph, withMethod({ method: 'GET', Method: 'PATCH' }))
  refuses(graph, withMethod({ method: 'POST', headers: { 'X-HTTP-Method': 'PATCH' } }))
  refuses(graph, withMethod({ method: 'POST', url: '/users/1?_method=PATCH' }))
  refuses(graph, withMethod({ method: 1 }), /no text as "method"/)
  refuses(google, parts('GET /calendar/v3/calendars/1/acl\r\nX-HTTP-Method-Override: POST'))
  refuses(
    google,
    part('GET /calendar/v3/calendars/1/acl', 'Content-Type: application/http\r\nX-HTTP-Method-Override: POST') +
      '--=b=--',
  )
  refuses(google, parts('GET /calendar/v3/calendars/1/acl?%24httpMethod=POST'))
  allows(google, parts('GET /calendar/v3/calendars/1/acl'))
})

test('a batch with a credential of the caller’s own is refused', () => {
  const isIt = { code: 'invalid_field', field: 'body' }
  for (const body of [
    parts('GET /gmail/v1/users/me/messages/1\r\nAuthorization: Bearer x'),
    parts('GET /gmail/v1/users/me/messages/1?access_token=x'),
    `${part('GET /gmail/v1/users/me', 'Content-Type: application/http\r\nAuthorization: Bearer x')}--=b=--`,
  ]) {
    assert.throws(() => {
      call(google, body, undefined)
    }, isIt)
  }
  assert.throws(() => {
    call(graph, requestsOf({ url: '/me', method: 'GET', headers: { Authorization: 'Bearer x' } }), undefined)
  }, isIt)
})

test('records of a type that gives access to credentials are found', () => {
  const collection = `${salesforce}/composite/sobjects`
  const recordsOf = (type: string) => ({
    records: [{ attributes: { type: 'Account' } }, { attributes: { type }, Name: 'x' }],
  })
  for (const type of ['TwoFactorInfo', 'authsession', 'User', 'PermissionSet', 'PermissionSetGroup', ' OauthToken ']) {
    refuses(collection, recordsOf(type))
    refuses(`${salesforce}/composite/tree/Account`, { records: [{ Contacts: recordsOf(type) }] })
    refuses(`${salesforce}/composite`, {
      compositeRequest: [{ method: 'POST', url: 'v60.0/composite/sobjects', body: recordsOf(type) }],
    })
    refuses(`${salesforce}/jobs/ingest`, { object: type, operation: 'insert' })
  }
  allows(collection, recordsOf('Account'))
  allows(collection, {
    records: [{ attributes: { type: 'Account' }, Name: 'A User', Description: 'NamedCredential and OauthToken' }],
  })
  refuses(`${salesforce}/jobs/query`, {
    operation: 'query',
    query: 'SELECT Id, (SELECT Id FROM OauthToken) FROM Account',
  })
  allows(`${salesforce}/jobs/query`, { operation: 'query', query: 'SELECT Name FROM User' })
  refuses(collection, { records: [{ attributes: { type: '@{a.Name}' } }] })
})

test('bulk jobs in XML and CSV are searched', () => {
  const job = 'https://acme.my.salesforce.com/services/async/60.0/job'
  const xml: HeaderList = [['content-type', 'application/xml']]
  const csv: HeaderList = [['content-type', 'text/csv']]
  for (const type of ['AuthSession', 'User', '&#65;uthSession', '&#x41;uthSession'])
    refuses(job, `<object>${type}</object>`, undefined, xml)
  refuses(job, Buffer.from('<object>AuthSession</object>', 'utf16le'), undefined, xml)
  refuses(job, '<!DOCTYPE a [<!ENTITY b "Auth">]><object>&b;Session</object>', /XML/, xml)
  refuses(job, '<object>Auth<!-- -->Session</object>', /XML/, xml)
  refuses(job, '<?xml version="1.0" encoding="utf-7"?><object>+AEE-uthSession</object>', /XML/, xml)
  allows(job, '<?xml version="1.0" encoding="UTF-8"?><object>Account</object>', xml)
  refuses(`${job}/1/batch`, 'SELECT Id FROM OauthToken', undefined, csv)
  refuses(`${job}/1/batch`, '"SELECT Id FROM \\u004fauthToken"', undefined, json)
  refuses(`${job}/1/batch`, '["Name"]\nSELECT Id FROM OauthToken', /not JSON/, csv)
  allows(`${job}/1/batch`, 'Name\nA user of an account', csv)
})

test('other batches are allowed', () => {
  allows(google, parts('GET /gmail/v1/users/me/messages/1'))
  allows(
    google,
    parts('GET /gmail/v1/users/me HTTP/1.1\r\nIf-None-Match: "a"\r\n', 'DELETE /gmail/v1/users/me/drafts/1').replaceAll(
      '\r\n',
      '\n',
    ),
  )
  allows(graph, requestsOf({ id: '1', method: 'GET', url: '/me/messages?$top=5' }))
  allows(graph, requestsOf({ method: 'GET', url: '/me' }, { method: 'POST', url: '/me/sendMail', body: {} }))
  allows(asana, actionsOf({ method: 'get', relative_path: '/tasks/1' }))
  allows(`${salesforce}/composite/batch`, batchOf({ method: 'GET', url: 'v60.0/sobjects/Account/1' }))
  const compositeRequest = [
    { method: 'POST', url: '/services/data/v60.0/sobjects/Account', referenceId: 'a', body: { Name: 'x' } },
    { method: 'POST', url: '/services/data/v60.0/sobjects/Contact', referenceId: 'b', body: { AccountId: '@{a.id}' } },
    { method: 'GET', url: '/services/data/v60.0/sobjects/Account/@{a.id}', referenceId: 'c' },
  ]
  allows(`${salesforce}/composite`, { compositeRequest })
})

test('what the calls of a batch send does not count', () => {
  const text = 'POST /applications/1/addPassword, https://graph.microsoft.com/v1.0/applications, webhooks'
  allows(graph, requestsOf({ url: '/me/sendMail', method: 'POST', body: { url: '/applications', path: text, text } }))
  allows(graph, requestsOf({ url: '/me/sendMail', method: 'POST', body: { requests: [{ url: '/applications' }] } }))
  allows(asana, actionsOf({ method: 'post', relative_path: '/tasks', data: { name: '/webhooks', notes: text } }))
  const body = `{"raw":"POST /gmail/v1/users/me/settings/delegates"}\r\n\r\nPOST /gmail/v1/users/me/settings/delegates`
  allows(google, parts(`POST /gmail/v1/users/me/messages/send\r\n\r\n${body}`))
})

test('calls that another reading would show are found', () => {
  const evil = { method: 'POST', url: '/applications', relative_path: '/webhooks' }
  refuses(asana, { relative_path: '/tasks', method: 'get', data: { actions: [evil] } })
  refuses(asana, { data: [{ actions: [evil] }] })
  refuses(graph, { requests: [{ url: '/me', method: 'GET' }], Requests: [evil] })
  refuses(graph, { requests: evil })
  refuses(graph, requestsOf({ url: '/me', URL: '/applications', method: 'POST' }))
})

test('a batch in a batch is refused, unless it is of records', () => {
  const nested = { body: requestsOf({ url: '/me', method: 'GET' }), method: 'POST' }
  for (const url of ['/$batch', '/v1.0/$batch', '/%24batch'])
    refuses(graph, requestsOf({ ...nested, url }), /batch inside/)
  refuses(google, parts('POST /batch/gmail/v1'), /batch inside/)
  const inComposite = (url: string, body: object) => ({ compositeRequest: [{ method: 'POST', url, body }] })
  refuses(
    `${salesforce}/composite`,
    inComposite('v60.0/composite/batch', batchOf({ method: 'GET', url: 'v60.0/limits' })),
    /batch inside/,
  )
  allows(
    `${salesforce}/composite`,
    inComposite('v60.0/composite/sobjects', { records: [{ attributes: { type: 'Account' } }] }),
  )
  const graphql = (query: string) => inComposite('v60.0/graphql', { query })
  allows(`${salesforce}/composite`, graphql('{ uiapi { query { Account { edges { node { Id } } } } } }'))
  refuses(`${salesforce}/composite`, graphql('mutation { uiapi { UserUpdate(input: {}) { success } } }'))
  refuses(`${salesforce}/composite`, inComposite('v60.0/graphql?query={a}', { query: '{a}' }), /GraphQL/)
  refuses(`${salesforce}/composite`, inComposite('v60.0/sobjects/@{a.Name}/1', {}), /reference/)
  refuses(`${salesforce}/composite`, inComposite('v60.0/query?q=SELECT+Id+FROM+@{a.Name}', {}), /reference/)
})

test('a batch that can’t be read is refused', () => {
  const harmless = parts('GET /gmail/v1/users/me/messages/1')
  allows(google, harmless, [...mixed, ['content-encoding', 'identity']])
  const type = (value: string): HeaderList => [['content-type', value]]
  for (const headers of [
    type('multipart/mixed'),
    type('multipart/mixed; boundary=c'),
    type('multipart/mixed; boundary="=b="; boundary=c'),
    type('multipart/mixed; boundary="=b="; boundary*=c'),
    [...mixed, ['content-encoding', 'gzip']] as HeaderList,
  ]) {
    refuses(google, harmless, /multipart|charset|compressed/, headers)
  }
  refuses(google, harmless, /neither JSON nor multipart/, type('text/plain'))
  refuses(google, harmless, /not JSON/, json)
  for (const body of [
    harmless.replace('--=b=--', ''),
    harmless.replace('\r\n\r\n', '\r\nContent-Transfer-Encoding: base64\r\n\r\n'),
    harmless.replace('application/http', 'multipart/mixed; boundary=c'),
    harmless.replace('messages/1', 'messages/1\r\n\r\n--=b=\n\nPOST /x'),
  ]) {
    refuses(google, body, /multipart/)
  }
  for (const body of [
    harmless.replace('application/http', 'text/plain'),
    ...[
      '',
      'x',
      'GET',
      '/a',
      'GET /a b',
      'GET /a\r\nA : b',
      'GET /a\r\nA: b\r\n c',
      'GET /a\r\nA: b\nX-HTTP-Method: PUT',
    ].map((line) => parts(line)),
  ]) {
    refuses(google, body, /not a plain HTTP request/)
  }
  for (const body of [
    '{',
    '',
    '[]',
    '{}',
    'null',
    '{"requests":[]}',
    '{"requests":[{}]}',
    '{"requests":[1]}',
    '{"requests":[{"url":1}]}',
  ]) {
    if (body === '') allows(graph, body)
    else refuses(graph, body, /not JSON|no list|no "url"/)
  }
  refuses(graph, '{"requests":[{"url":"/me","url":"/me","method":"GET"}]}', /not JSON/)
  refuses(graph, Buffer.from(JSON.stringify(requestsOf({ url: '/me', method: 'GET' })), 'utf16le'), /not JSON/)
  refuses(graph, requestsOf({ url: '/me', method: 'GET' }), /neither/, type('application/x-www-form-urlencoded'))
  refuses(
    asana,
    `data=${encodeURIComponent(JSON.stringify(actionsOf({ relative_path: '/tasks' }).data))}`,
    /neither/,
    type('application/x-www-form-urlencoded'),
  )
  refuses(`${salesforce}/composite/batch`, '<batch/>', /neither/, type('application/xml'))
  refuses(graph, requestsOf(...Array.from({ length: 501 }, () => ({ url: '/me', method: 'GET' }))), /too many calls/)
  assert.throws(
    () => {
      call(graph, 'a'.repeat(1_048_577), undefined)
    },
    { code: 'body_not_inspectable' },
  )
})

test('no batch of 1 MiB takes long to be checked', () => {
  const calls = (url: (at: number) => string) =>
    Array.from({ length: 490 }, (_, at) => ({ url: url(at), method: 'GET' }))
  const types = Array.from({ length: 490 }, (_, at) => ({ attributes: { type: `A${at}${'%61'.repeat(500)}` } }))
  for (const [url, body] of [
    [graph, requestsOf(...calls((at) => `/a${at}${'%252fx'.repeat(9)}`))],
    [graph, requestsOf(...calls((at) => `/a${at}${'%2578'.repeat(400)}`))],
    [graph, requestsOf(...calls((at) => `/a${at}${'%2fx'.repeat(400)}`))],
    [`${graph}/${'%61%2f'.repeat(12)}`, requestsOf(...calls((at) => `/a${at}${'/..'.repeat(9)}`))],
    [`${salesforce}/composite/batch`, batchOf(...calls((at) => `v60.0/sobjects/${at}${'/sobjects'.repeat(7)}`))],
    [`${salesforce}/composite/sobjects`, { records: types }],
    [`${salesforce}/composite/sobjects`, { records: Array.from({ length: 40_000 }, (_, at) => `Account ${at}`) }],
    [`${salesforce}/jobs/query`, { query: `SELECT ${'&#65;'.repeat(200_000)}` }],
    [google, parts(...calls((at) => `GET /a${at}${'/x'.repeat(9)}`).map(({ url }) => url))],
    [google, parts(`GET /a\r\n\r\n${'\r\n'.repeat(500_000)}`)],
    [google, '\\'.repeat(1_048_576)],
  ] as const) {
    const before = process.cpuUsage()
    try {
      call(url, body, undefined)
    } catch (error) {
      assert.equal((error as ServiceError).code, 'credential_endpoint')
    }
    assert.ok(process.cpuUsage(before).user < 1_500_000, url)
  }
})
