/** GraphQL, batches and what is not read in one way. What each preset's calls do: access-of-presets.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import fc from 'fast-check'
import { accessOf, isReadForAccess } from '../../testkit/access-calls.ts'
import type { AccessCall } from '../../testkit/access-calls.ts'
import { judgeCall } from '../../testkit/policies.ts'
import type { Grant } from '../grants/grant.ts'

const linear = 'https://api.linear.app/graphql'
const unknown = 'https://api.example.com/v1/graphql'

const post = (body: unknown, more: AccessCall = {}): AccessCall => ({
  method: 'POST',
  type: 'application/json',
  body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  ...more,
})

function expect(access: AccessClass, url: string, calls: Record<string, AccessCall>): void {
  for (const [name, call] of Object.entries(calls)) assert.equal(accessOf(url, call), access, name)
}

const [read, write, destroy] = [
  '{ viewer { id } }',
  'mutation { issueCreate { id } }',
  'mutation { issueDelete { id } }',
]
const fragment = 'fragment F on Mutation { issueDelete { id } }'

test('GraphQL: queries and subscriptions read', () => {
  for (const url of [
    ...[linear, unknown, 'https://shop.myshopify.com/admin/api/2026-01/graphql.json'],
    ...['https://ref.supabase.co/graphql/v1', 'https://db.example.com/graphql/v1'],
  ]) {
    expect('read', url, {
      shorthand: post({ query: read }),
      named: post({ query: 'query A { viewer { id } }', operationName: 'A', variables: { a: 1 } }),
      subscription: post({ query: 'subscription { issueDeleted { id } }' }),
      'an alias that looks like a mutation': post({ query: '{ mutation: viewer { deleteIssue: id } }' }),
      'words in strings and comments': post({
        query: '# mutation { a }\n{ issue(id: "mutation { issueDelete }") { id } }',
      }),
      'a field that is named mutation': post({ query: '{ mutation { id } }' }),
      fragments: post({ query: `{ ...F } fragment F on Query { viewer { id } }` }),
      'a BOM in the body': post(`\uFEFF${JSON.stringify({ query: read })}`),
      'a BOM in the document': post({ query: `\uFEFF${read}` }),
      'commas and no blanks': post({ query: '{viewer{id,,name}}' }),
      GET: { method: 'GET', query: `?query=${encodeURIComponent(read)}` },
      'GET with operationName': {
        query: `?query=${encodeURIComponent(`query A ${read} ${write}`)}&operationName=A`,
        method: 'GET',
      },
      'a form': post(`query=${encodeURIComponent(read)}&variables=%7B%7D`, {
        type: 'application/x-www-form-urlencoded',
      }),
      'application/graphql': post(read, { type: 'application/graphql' }),
      gzip: post(gzipSync(JSON.stringify({ query: read })), { headers: [['content-encoding', 'gzip']] }),
      'several queries': post([{ query: read }, { query: 'query B { viewer { id } }' }]),
      'a mutation that operationName doesn’t name': post({ query: `query A ${read} ${destroy}`, operationName: 'A' }),
      'null members': post({ query: read, operationName: null, variables: null, extensions: null }),
      'extensions of a client': post({ query: read, extensions: { clientLibrary: { name: '@apollo/client' } } }),
    })
  }
})

test('GraphQL: a mutation writes, wherever it is', () => {
  expect('write', linear, {
    mutation: post({ query: write }),
    'in lines': post({ query: 'mutation\n#x\n{\n issueCreate { id } }' }),
    'after a BOM': post({ query: `\uFEFF${write}` }),
    'with an alias': post({ query: 'mutation { viewer: issueCreate { id } }' }),
    'next to a query': post({ query: `query A ${read} ${write}` }),
    'next to a query that is not there': post({ query: `query A ${read} ${write}`, operationName: 'C' }),
    'next to two of a name': post({ query: `query A ${read} query A ${read} ${write}`, operationName: 'A' }),
    'next to an anonymous query': post({ query: `${read} mutation A { issueCreate { id } }` }),
    'in a batch': post([{ query: read }, { query: write }]),
    'in the URL': { ...post({ query: read }), query: `?query=${encodeURIComponent(write)}` },
    'in the body': { ...post({ query: write }), query: `?query=${encodeURIComponent(read)}` },
    'by an operationName in the URL': {
      ...post({ query: `query A ${read} mutation B { issueCreate { id } }`, operationName: 'A' }),
      query: '?operationName=B',
    },
    'the second query of the URL': {
      method: 'GET',
      query: `?query=${encodeURIComponent(read)}&query=${encodeURIComponent(write)}`,
    },
    'the first query of the URL': {
      method: 'GET',
      query: `?query=${encodeURIComponent(write)}&query=${encodeURIComponent(read)}`,
    },
    'a query in the URL by another spelling': {
      method: 'GET',
      query: `?query=${encodeURIComponent(read)}&%71uery[]=${encodeURIComponent(write)}`,
    },
    'by GET': { method: 'GET', query: `?query=${encodeURIComponent(write)}` },
    'by HEAD': { method: 'HEAD', query: `?query=${encodeURIComponent(write)}` },
    'in a form': post(`query=${encodeURIComponent(write)}`, { type: 'application/x-www-form-urlencoded' }),
    'in application/graphql': post(write, { type: 'application/graphql' }),
    'in gzip': post(gzipSync(JSON.stringify({ query: write })), { headers: [['content-encoding', 'gzip']] }),
  })
})

test('GraphQL: what can’t be read in one way is a write', () => {
  const twice = `{"query":${JSON.stringify(read)},"query":${JSON.stringify(write)}}`
  const parts = ['--b', 'Content-Disposition: form-data; name="operations"', '', JSON.stringify({ query: read })]
  const mapped = ['--b', 'Content-Disposition: form-data; name="map"', '', '{"0":["query"]}', '--b--', '']
  expect('write', linear, {
    'no body': { method: 'POST' },
    'an empty batch': post([]),
    'no document': post({ variables: {} }),
    'a syntax error': post({ query: '{ viewer { id }' }),
    'no JSON': post('{'),
    'a value that is no text': post({ query: [read] }),
    'a document with a schema': post({ query: `${read} type A { b: C }` }),
    'no operation': post({ query: 'fragment F on Query { a }' }),
    'a member twice': post(twice),
    'a member in another spelling': post({ query: read, Query: write }),
    'an unknown member': post({ query: read, doc: '12' }),
    'a persisted query': post({ extensions: { persistedQuery: { version: 1, sha256Hash: 'ab' } } }),
    'a persisted query with a document': post({ query: read, extensions: { persistedQuery: { sha256Hash: 'ab' } } }),
    'a stored id': post({ id: 'ab' }),
    'a stored id with a document': post({ query: read, documentId: 'ab' }),
    'a stored id in the URL': { ...post({ query: read }), query: '?doc_id=1' },
    'a persisted query by GET': { method: 'GET', query: '?extensions=%7B%22persistedQuery%22%3A%7B%7D%7D' },
    'an unknown type': post({ query: read }, { type: 'text/plain' }),
    'no type': post({ query: read }, { type: undefined }),
    'two types': post({ query: read }, { headers: [['content_type', 'text/plain']] }),
    'JSON as a form': post({ query: read }, { type: 'application/x-www-form-urlencoded' }),
    'another charset': post({ query: read }, { type: 'application/json; charset=utf-16' }),
    'another encoding': post({ query: read }, { headers: [['content-encoding', 'br']] }),
    'a form in gzip': post(gzipSync(`query=${encodeURIComponent(read)}`), {
      ...{ type: 'application/x-www-form-urlencoded', headers: [['content-encoding', 'gzip']] },
    }),
    'a semicolon in a form': post(`query=${encodeURIComponent(read)};query=x`, {
      type: 'application/x-www-form-urlencoded',
    }),
    multipart: post([...parts, ...mapped].join('\r\n'), { type: 'multipart/form-data; boundary=b' }),
    'a block string': post({ query: '{ a(b: ["""x"]){c}} mutation{d}#"""]) }' }),
    'a line separator': post({ query: `# x\u2028mutation { a }\n${read}` }),
    'over 256 KiB': post({ query: `#${'x'.repeat(256 * 1024)}\n${read}` }),
    'too many tokens': post({ query: `{ ${'a '.repeat(20_001)} }` }),
    'too many in a batch': post(Array.from({ length: 3 }, () => ({ query: `{ ${'a '.repeat(8000)} }` }))),
    'nested too deeply': post({ query: `${'{a'.repeat(9000)}${'}'.repeat(9000)}` }),
  })
})

test('GraphQL: a mutation that deletes is destructive', () => {
  const deletes =
    'deleteIssue removeLabel destroyThing issueDelete delete_users bulkDeleteIssues user_remove_all DELETE_ALL'
  for (const field of deletes.split(' ')) {
    for (const url of [linear, unknown]) {
      assert.equal(accessOf(url, post({ query: `mutation { a: ${field} { id } }` })), 'destructive', field)
      assert.equal(accessOf(url, post({ query: `mutation { users { ${field} { id } } }` })), 'destructive', field)
      assert.equal(accessOf(url, post({ query: `query { ${field} { id } }` })), 'read', field)
    }
  }
  for (const field of 'undelete issueUnarchive deletedThings removableTag markDeleted'.split(' ')) {
    assert.equal(accessOf(linear, post({ query: `mutation { ${field} { deletedAt } }` })), 'write', field)
  }
  expect('destructive', linear, {
    'of a preset': post({ query: 'mutation { issueArchive(id: "1") { success } }' }),
    'in a fragment': post({ query: `mutation { ...F } ${fragment}` }),
    'in a fragment of a fragment': post({ query: `mutation { ...G } fragment G on Mutation { ...F } ${fragment}` }),
    'in fragments that contain each other': post({
      query: 'mutation { ...A } fragment A on M { ...B } fragment B on M { ...A issueDelete { id } }',
    }),
    'in an inline fragment': post({ query: 'mutation { ... on Mutation { issueDelete { id } } }' }),
    'under a directive': post({ query: 'mutation { issueDelete @include(if: true) { id } }' }),
    'next to a persisted one': post([{ id: '1' }, { query: destroy }]),
    'in the URL': { ...post({ query: read }), query: `?query=${encodeURIComponent(destroy)}` },
    'by operationName': post({ query: `query A ${read} mutation B { issueDelete { id } }`, operationName: 'B' }),
  })
  expect('write', linear, {
    'a fragment that is not spread': post({ query: `mutation { issueCreate { id } } ${fragment}` }),
    'one that operationName doesn’t name': post({
      ...{ query: 'mutation A { issueCreate { id } } mutation B { issueDelete { id } }', operationName: 'A' },
    }),
  })
})

test('GraphQL: only an endpoint of the API, or of one that is not known', () => {
  const query = { query: read }
  for (const url of [
    'https://api.github.com/repos/o/r/pages/graphql',
    'https://api.stripe.com/v1/customers/graphql',
    'https://api.example.com/graphql/users',
    'https://api.example.com/a%2Fgraphql',
    'https://api.example.com/graphql;a/users',
    'https://api.example.com/x/%252e%252e/graphql',
    'https://api.example.com/graphql%20',
  ]) {
    assert.equal(accessOf(url, post(query)), 'write', url)
    assert.notEqual(accessOf(url, post({ query: destroy })), 'read', url)
  }
  assert.equal(accessOf('https://api.github.com/repos/o/graphql', { method: 'DELETE' }), 'destructive')
  assert.equal(accessOf('https://api.github.com/repos/o/graphql', { method: 'GET' }), 'read')
  for (const method of ['PUT', 'PATCH', 'PROPFIND']) {
    assert.equal(accessOf('https://api.example.com/graphql', { ...post(query), method }), 'write')
  }
  assert.equal(
    accessOf('https://api.example.com/graphql', { ...post(query), methods: ['POST', 'DELETE'] }),
    'destructive',
  )
})

const names = fc.constantFrom('a', 'issueCreate', 'mutation', 'query', 'A', 'viewer')
const selections = fc.array(names, { minLength: 1, maxLength: 3 }).map((fields) => `{ ${fields.join(' ')} }`)
const operation = (kind: string) => fc.tuple(names, selections).map(([name, body]) => `${kind} ${name} ${body}`)
const noise = fc.constantFrom('', '# {a}\n', ',', '\uFEFF', '\n\t', 'fragment F on T { b }')

test('GraphQL: a document with a mutation is never taken for a read, whatever else it contains', () => {
  const documents = fc.tuple(
    fc.array(fc.oneof(operation('query'), operation('subscription'), noise)),
    operation('mutation'),
    fc.array(fc.oneof(operation('query'), noise)),
  )
  const wrapped = fc.constantFrom(
    (query: string) => post({ query }),
    (query: string) => post([{ query: read }, { query }]),
    (query: string) => post(query, { type: 'application/graphql' }),
    (query: string) => post(`query=${encodeURIComponent(query)}`, { type: 'application/x-www-form-urlencoded' }),
    (query: string): AccessCall => ({ method: 'GET', query: `?query=${encodeURIComponent(query)}` }),
    (query: string) => post({ query }, { query: `?query=${encodeURIComponent(read)}` }),
  )
  fc.assert(
    fc.property(documents, wrapped, ([before, mutation, after], wrap) => {
      const document = [...before, mutation, ...after].join(' ')
      assert.notEqual(accessOf(linear, wrap(document)), 'read', document)
    }),
    { numRuns: 300 },
  )
})

test('the worst of all possible methods counts', () => {
  const url = 'https://api.example.com/things/1'
  for (const [methods, access] of [
    [['GET'], 'read'],
    [['HEAD'], 'read'],
    [['OPTIONS'], 'read'],
    [['POST'], 'write'],
    [['QUERY'], 'write'],
    [['GET', 'POST'], 'write'],
    [['POST', 'DELETE'], 'destructive'],
    [['DELETE', 'GET'], 'destructive'],
    [['POST', ''], 'destructive'],
  ] as const) {
    assert.equal(accessOf(url, { methods: [...methods] }), access, methods.join())
  }
  assert.equal(accessOf(url, { method: 'GET', headers: [['sec-websocket-key', 'a']] }), 'write')
})

test('a rule makes a call milder only at its very path and methods', () => {
  const search = 'https://api.notion.com/v1/search'
  assert.equal(accessOf(search, post({ query: 'a' })), 'read')
  for (const path of [
    '/v1/search/a',
    '/v1/search.json',
    '/v1//search',
    '/v1/search;a',
    '/v1/x/../search%2f',
    '/v1/search%20',
  ]) {
    assert.equal(accessOf(`https://api.notion.com${path}`, post({})), 'write', path)
  }
  assert.equal(accessOf(search, post({}, { methods: ['POST', 'PATCH'] })), 'write')
  assert.equal(accessOf(search, post({}, { methods: ['POST', 'DELETE'] })), 'destructive')
  assert.equal(accessOf('https://api.example.com/v1/search', post({})), 'write')
  for (const path of ['/api/conversations.list.x', '/api/conversations.list/../chat.delete', '/api/%63hat.delete']) {
    assert.notEqual(accessOf(`https://slack.com${path}`, { method: 'GET' }), 'read', path)
  }
  assert.equal(accessOf('https://slack.com/api/%63hat.delete', { method: 'GET' }), 'destructive')
})

test('git: fetching reads, and so does a push of nothing', () => {
  const at = (service: string) => `https://github.com/o/r.git/git-${service}`
  const packs = (service: string, body: string): AccessCall =>
    post(body, { type: `application/x-git-${service}-request` })
  assert.equal(accessOf(at('upload-pack'), packs('upload-pack', '0032want …')), 'read')
  assert.equal(accessOf(at('receive-pack'), packs('receive-pack', '0000')), 'read')
  assert.equal(accessOf(at('receive-pack'), packs('receive-pack', '00940000…')), 'write')
  assert.equal(
    accessOf(at('receive-pack'), { method: 'POST', type: 'application/x-git-receive-pack-request' }),
    'write',
  )
  assert.equal(accessOf(at('receive-pack'), post('0000')), 'write')
  assert.equal(
    accessOf('https://github.com/o/r.git/info/refs', { method: 'GET', query: '?service=git-receive-pack' }),
    'read',
  )
})

test('a batch is as bad as its worst call', () => {
  const graph = 'https://graph.microsoft.com/v1.0/$batch'
  const batch = (...requests: unknown[]) => post({ requests })
  const get = { id: '1', method: 'GET', url: '/me' }
  expect('read', graph, { reads: batch(get, get) })
  expect('write', graph, {
    'a write': batch(get, { id: '2', method: 'POST', url: '/me/sendMail', body: {} }),
    'no call': batch(),
    'another type': { ...batch(get), type: 'text/plain' },
    'no method': post({ requests: [{ url: '/me', method: 1 }] }),
  })
  expect('destructive', graph, {
    'a deletion': batch(get, { id: '2', method: 'delete', url: '/me/messages/1' }),
    'an override': batch({ id: '2', method: 'POST', url: '/a', headers: { 'X-HTTP-Method-Override': 'DELETE' } }),
    'a rule of the preset': batch({ id: '2', method: 'POST', url: '/me/messages/1/permanentDelete' }),
    'no method': batch({ id: '2', url: '/me/messages/1' }),
  })
  const multipart = (...calls: string[]) =>
    post(
      [...calls.flatMap((call) => ['--b', 'Content-Type: application/http', '', call, '']), '--b--', ''].join('\r\n'),
      { type: 'multipart/mixed; boundary=b' },
    )
  const drive = 'https://www.googleapis.com/batch/drive/v3'
  assert.equal(accessOf(drive, multipart('GET /drive/v3/files/1', 'GET /drive/v3/files/2')), 'read')
  assert.equal(accessOf(drive, multipart('GET /drive/v3/files/1', 'PATCH /drive/v3/files/2')), 'write')
  assert.equal(accessOf(drive, multipart('DELETE /drive/v3/files/1')), 'destructive')
  const salesforce = 'https://acme.my.salesforce.com/services/data/v62.0/composite'
  const composite = (...compositeRequest: unknown[]) => post({ compositeRequest })
  const account = '/services/data/v62.0/sobjects/Account/1'
  assert.equal(accessOf(salesforce, composite({ method: 'GET', url: account })), 'read')
  assert.equal(accessOf(salesforce, composite({ method: 'DELETE', url: account })), 'destructive')
  const graphql = (query: string) => ({ method: 'POST', url: '/services/data/v62.0/graphql', body: { query } })
  assert.equal(accessOf(salesforce, composite(graphql('{ a }'))), 'write')
  assert.equal(accessOf(salesforce, composite(graphql('mutation { uiapi { AccountDelete { Id } } }'))), 'destructive')
  // Its records are created, whatever calls stand next to them.
  const tree = post({ records: [], requests: [{ method: 'GET', url: account }] })
  assert.equal(accessOf(`${salesforce}/tree/Account`, tree), 'write')
})

test('a body is read only where the class depends on it', () => {
  const json: AccessCall = { method: 'POST', type: 'application/json' }
  for (const url of [
    linear,
    unknown,
    'https://graph.microsoft.com/v1.0/$batch',
    'https://sheets.googleapis.com/v4/spreadsheets/1:batchUpdate',
    'https://api.digitalocean.com/v2/droplets/1/actions',
  ]) {
    assert.ok(isReadForAccess(url, json), url)
  }
  for (const url of [
    'https://api.openai.com/v1/files',
    'https://api.github.com/repos/o/r/issues',
    'https://www.googleapis.com/upload/drive/v3/files',
    'https://api.example.com/things',
    'https://s3.eu-west-1.amazonaws.com/bucket/key',
    'https://slack.com/api/files.upload',
  ]) {
    assert.ok(!isReadForAccess(url, json), url)
  }
  const ec2 = 'https://ec2.eu-west-1.amazonaws.com/'
  assert.ok(isReadForAccess(ec2, { ...json, type: 'application/x-www-form-urlencoded' }))
  const push = 'https://github.com/o/r.git/git-receive-pack'
  const pack = { ...json, type: 'application/x-git-receive-pack-request' }
  assert.ok(isReadForAccess(push, { ...pack, bodyLength: 4 }))
  assert.ok(!isReadForAccess(push, { ...pack, bodyLength: 5 }))
  assert.ok(!isReadForAccess(push, pack))
})

test('a grant that only reads covers GraphQL queries, and no mutation', () => {
  const judge = (query: string, terms: Partial<Grant>) => () => {
    judgeCall(linear, {
      terms,
      headers: [['content-type', 'application/json']],
      body: JSON.stringify({ query }),
    })
  }
  const isRefused = { code: 'access_not_allowed' }
  assert.doesNotThrow(judge(read, { maxAccess: 'read' }))
  assert.throws(judge(write, { maxAccess: 'read' }), isRefused)
  assert.doesNotThrow(judge(write, { maxAccess: 'write' }))
  assert.throws(judge(destroy, { maxAccess: 'write' }), isRefused)
  assert.throws(judge(read, { allowedMethods: ['GET', 'POST'] }), { code: 'path_not_allowed' })
})
