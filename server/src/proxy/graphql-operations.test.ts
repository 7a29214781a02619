import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ServiceError } from '../platform/errors.ts'
import { judgeCall } from '../../testkit/policies.ts'
import type { HeaderList } from './upstream.ts'

const urls = {
  github: 'https://api.github.com/graphql',
  linear: 'https://api.linear.app/graphql',
  salesforce: 'https://acme.my.salesforce.com/services/data/v62.0/graphql',
}

interface Told {
  at?: keyof typeof urls
  query?: string
  method?: string
  type?: string | null
  headers?: HeaderList
}

function call(body: string | Buffer | undefined, told: Told): void {
  const { at = 'linear', query = '', method = 'POST', type = 'application/json', headers = [] } = told
  const all: HeaderList = type === null ? headers : [['content-type', type], ...headers]
  judgeCall(`${urls[at]}${query}`, { method, headers: all, body })
}

function allows(body: string | Buffer | undefined, told: Told = {}): void {
  assert.doesNotThrow(
    () => {
      call(body, told)
    },
    `${String(body).slice(0, 300)} ${JSON.stringify(told)}`,
  )
}

/** `why`: that it could not be read, and the reason. Otherwise for what it does. */
function refuses(body: string | Buffer | undefined, told: Told = {}, why?: RegExp): void {
  const isIt = ({ code, publicMessage = '' }: ServiceError) =>
    code === 'credential_endpoint' &&
    (why ? /can't be checked/.test(publicMessage) && why.test(publicMessage) : /asks for/.test(publicMessage))
  assert.throws(
    () => {
      call(body, told)
    },
    isIt,
    `${String(body).slice(0, 300)} ${JSON.stringify(told)}`,
  )
}

const query = (text: string, more: object = {}) => JSON.stringify({ query: text, ...more })
const harmless = '{ viewer { id } }'
const mutation = 'mutation { apiKeyCreate(input: {label: "x"}) { apiKey { id } } }'

test('a credential field is found wherever a document can have it', () => {
  for (const text of [
    mutation,
    'mutation { ok: apiKeyCreate { id } }',
    'mutation { issueCreate(input: {}) { id } apiKeyCreate { id } }',
    `query A ${harmless} mutation B { apiKeyCreate { id } }`,
    'mutation { ...F } fragment F on Mutation { apiKeyCreate { id } }',
    'mutation { ...F } fragment F on Mutation { ...G } fragment G on Mutation { apiKeyCreate { id } }',
    'mutation { ... on Mutation { apiKeyCreate { id } } }',
    'mutation { ... @include(if: true) { apiKeyCreate { id } } }',
    'mutation {\n#"""\napiKeyCreate { id } }',
    'mutation{a(b:"""\\"""""")apiKeyCreate{id}}',
    'mutation{\ufeff,,apiKeyCreate,{id}}',
    'mutation { APIKEYCREATE { id } }',
    'mutation M($a: apiKeyCreate) { b(c: $a) }',
    'mutation { b(c: {apiKeyCreate: {id: 1}}) }',
  ]) {
    refuses(query(text))
    refuses(query(text, { operationName: 'A' }))
  }
  refuses(query('mutation($a: JSON) { b(c: $a) }', { variables: { a: { apiKeyCreate: { id: 1 } } } }))
  refuses(query('mutation($a: JSON) { b(c: $a) }', { variables: '{"a":[{"apiKeyCreate":1}]}' }))
})

test('words in comments, aliases and strings don’t count', () => {
  for (const text of [
    `# apiKeyCreate\n${harmless}`,
    '{ apiKeyCreate: viewer { id } }',
    'query apiKeyCreate { viewer { id } }',
    '{ ...webhookCreate } fragment webhookCreate on Query { viewer { id } }',
    'mutation { commentCreate(input: {body: "mutation { apiKeyCreate { id } }"}) { id } }',
    'mutation { commentCreate(input: {body: """\napiKeyCreate { id }\n"""}) { id } }',
    'query($apiKeyCreate: ID) { issue(id: $apiKeyCreate) { id } }',
    '{ __schema { types { name } } __type(name: "apiKeyCreate") { name } }',
    'mutation { apiKeyCreated }',
  ]) {
    allows(query(text))
  }
  const body = 'See https://api.linear.app/oauth/token and mutation { apiKeyCreate { id } }'
  allows(query('mutation($a: String) { commentCreate(body: $a) { id } }', { variables: { a: body } }))
  allows(query('mutation($a: String) { commentCreate(body: $a) { id } }', { variables: JSON.stringify({ a: body }) }))
})

test('each operation of a batch counts', () => {
  allows(`[${query(harmless)},${query(harmless)}]`)
  refuses(`[${query(harmless)},${query(mutation)}]`)
  for (const body of ['[[{"query":"{a}"}]]', '[null]', '["{a}"]', '"{a}"', '[{}]', '{}', `[${query(harmless)},{}]`]) {
    refuses(body, {}, /GraphQL/)
  }
})

test('a credential field is found in every encoding of the body', () => {
  refuses('{"query":"mutation { \\u0061piKeyCreate { id } }"}')
  refuses('{"\\u0071uery":"mutation{apiKeyCreate}"}')
  refuses('{"Query":"mutation{apiKeyCreate}"}')
  refuses(`\ufeff${query(mutation)}`)
  const gzip: HeaderList = [['content-encoding', 'gzip']]
  refuses(gzipSync(query(mutation)), { headers: gzip })
  allows(gzipSync(query(harmless)), { headers: gzip })
  for (const type of ['text/plain', 'application/octet-stream', null, 'application/x-www-form-urlencoded']) {
    refuses(query(mutation), { type })
    allows(query(harmless), { type })
  }
  const form = 'application/x-www-form-urlencoded'
  allows(`query=${encodeURIComponent(harmless)}&variables=%7B%7D`, { type: form })
  refuses(`query=${encodeURIComponent(mutation)}`, { type: form })
  refuses(`a=1&%71uery=mutation+%7B+%61piKeyCreate+%7D`, { type: form })
  refuses(`query%5B%5D=mutation+%7B+apiKeyCreate+%7D`, { type: form })
  refuses(`query=${encodeURIComponent(harmless)}&variables[input][apiKeyCreate]=1`, { type: form })
  // Read as JSON by some and as a form by others.
  refuses(query(harmless, { a: '&query=mutation%7BapiKeyCreate%7D&' }), { type: form })
  allows(mutation.replace('apiKeyCreate', 'issueCreate'), { type: 'application/graphql' })
  refuses(mutation, { type: 'application/graphql' })
})

test('a credential field is found in the query of the URL', () => {
  const inQuery = (text: string) => `?query=${encodeURIComponent(text)}`
  for (const method of ['GET', 'POST']) {
    allows(undefined, { method })
    allows(undefined, { method, query: inQuery(harmless) })
    refuses(undefined, { method, query: inQuery(mutation) })
    refuses(undefined, { method, query: `?a=1&%71uery=mutation%7B%61piKeyCreate%7D` })
    refuses(undefined, { method, query: `${inQuery(harmless)}&variables=%7B%22apiKeyCreate%22%3A1%7D` })
  }
  refuses(query(harmless), { query: inQuery(mutation) })
  refuses(undefined, { query: '?query={a};query={b}' }, /semicolon/)
  refuses(undefined, { query: '?query=%ff' }, /escape/)
})

const multipart = 'multipart/form-data; boundary=b'
const part = (name: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`
const end = '--b--\r\n'

test('a credential field is found in the parts of a multipart request', () => {
  const file = part('0', `not GraphQL: ${mutation}`)
  const map = part('map', '{"0":["variables.file"]}')
  allows(part('operations', query(harmless)) + map + file + end, { type: multipart })
  refuses(part('operations', query(mutation)) + map + file + end, { type: multipart })
  refuses(part('operations', `[${query(harmless)},${query(mutation)}]`) + end, { type: multipart })
  refuses(part('operations', query(harmless)) + part('operations', query(mutation)) + end, { type: multipart })
  refuses(part('query', mutation) + end, { type: multipart })
  refuses(part('query', harmless) + part('variables', '{"apiKeyCreate":1}') + end, { type: multipart })
  refuses(part('operations', query(harmless)) + part('query', mutation) + end, { type: multipart })
})

test('a multipart request that parsers read differently is refused', () => {
  const good = part('operations', query(harmless)) + end
  for (const [body, type] of [
    [good, 'multipart/form-data'],
    [good, 'multipart/form-data; boundary=b; boundary=c'],
    [good, 'multipart/form-data; boundary=c; Boundary=b'],
    [good.replace(end, ''), multipart],
    [good.replace('\r\n\r\n', `\r\n\r\n--b\n`), multipart],
    [good.replaceAll('--b', '--c'), multipart],
    [good.replace('name="operations"', `name="a"; name*=utf-8''operations`), multipart],
    [good.replace('\r\n\r\n', '\r\nContent-Transfer-Encoding: base64\r\n\r\n'), multipart],
  ] as const) {
    refuses(body, { type }, /multipart|charset/)
  }
  refuses(part('map', '{}') + end, { type: multipart }, /no GraphQL document/)
})

test('a request that could be read differently is refused', () => {
  for (const body of [
    `{"query":"${harmless}","query":"mutation{apiKeyCreate}"}`,
    `{"query":"${harmless}","\\u0071uery":"{a}"}`,
    `${query(harmless)} ${query(mutation)}`,
    `${query(harmless)}\u0000`,
    `/**/${query(harmless)}`,
    query(harmless).slice(0, -1),
    `{"query":"${harmless}","a":${'['.repeat(600)}${']'.repeat(600)}}`,
    Buffer.from(query(mutation), 'utf16le'),
    Buffer.from(`\ufeff${query(mutation)}`, 'utf16le'),
    Buffer.concat([Buffer.from(query(harmless)), Buffer.of(0xc1, 0xa1)]),
  ]) {
    refuses(body, {}, /not JSON|UTF-8|not GraphQL/)
  }
  for (const type of ['application/json; charset=utf-7', 'application/json; charset=utf-8; charset=utf-16']) {
    refuses(query(harmless), { type }, /charset/)
  }
  for (const encoding of ['br', 'deflate', 'gzip, gzip']) {
    refuses(gzipSync(query(harmless)), { headers: [['content-encoding', encoding]] }, /gzip/)
  }
  refuses(query(harmless), { headers: [['content-encoding', 'gzip']] }, /gzip/)
  for (const body of ['mutation { a }', 'x', '<query/>', '--b']) refuses(body, { type: 'text/plain' }, /not GraphQL/)
})

test('documents that can’t be parsed, or are too long, are refused', () => {
  for (const text of [
    '{',
    'mutation { a(b: "',
    '{ a } garbage',
    `${'{a'.repeat(5_000)}${'}'.repeat(5_000)}`,
    `{a(b:${'['.repeat(9_000)}`,
  ]) {
    refuses(query(text), {}, /syntax error/)
  }
  const fields = (count: number) => `{${'a '.repeat(count)}}`
  allows(query(fields(19_000)))
  refuses(query(fields(21_000)), {}, /tokens/)
  refuses(
    `[${Array(3)
      .fill(query(fields(9_000)))
      .join()}]`,
    {},
    /tokens/,
  )
  refuses(query(`# ${'x'.repeat(262_144)}\n${harmless}`), {}, /256 KiB/)
  for (const odd of [{ query: 1 }, { query: [harmless] }, { query: {} }])
    refuses(JSON.stringify(odd), {}, /not a string/)
  refuses(query(harmless, { variables: '{' }), {}, /JSON/)
})

test('persisted queries are refused, and named', () => {
  const extensions = { persistedQuery: { version: 1, sha256Hash: 'ab' } }
  refuses(JSON.stringify({ extensions }), {}, /persisted/)
  refuses(query(harmless, { extensions }), {}, /persisted/)
  refuses(query(harmless, { extensions: JSON.stringify(extensions) }), {}, /persisted/)
  for (const name of ['id', 'documentId', 'doc_id', 'queryId', 'hash']) {
    refuses(JSON.stringify({ [name]: 'ab', variables: {} }), {}, /persisted/)
    refuses(undefined, { query: `?${name}=ab` }, /persisted/)
  }
  for (const method of ['GET', 'POST']) {
    refuses(undefined, { method, query: `?extensions=${encodeURIComponent(JSON.stringify(extensions))}` }, /persisted/)
    refuses(undefined, { method, query: '?extensions[persistedQuery][sha256Hash]=ab' }, /persisted/)
  }
  refuses('{"operationName":"A"}', {}, /no GraphQL document/)
  const ofClients = { operationName: null, variables: null, extensions: { clientLibrary: { name: 'a', version: '1' } } }
  allows(query(harmless, ofClients))
})

test('a GitHub comment that contains a login URL is allowed', () => {
  const body = 'https://github.com/login/oauth/access_token, /user/keys, tempCloneToken, persistedQuery, _method=DELETE'
  allows(
    query('mutation($a: AddCommentInput!) { addComment(input: $a) { clientMutationId } }', {
      variables: { a: { subjectId: 'I_1', body } },
    }),
    { at: 'github' },
  )
  allows(
    query(`mutation { addComment(input: {subjectId: "I_1", body: ${JSON.stringify(body)}}) { clientMutationId } }`),
    { at: 'github' },
  )
  refuses(query('{ repository(owner: "o", name: "r") { tempCloneToken } }'), { at: 'github' })
})

test('mutations of records that give access are refused at Salesforce', () => {
  const write = (field: string) => query(`mutation($i: JSON) { uiapi { ${field}(input: $i) { Record { Id } } } }`)
  for (const type of ['User', 'PermissionSetAssignment', 'PermissionSet', 'GroupMember', 'NamedCredential']) {
    for (const verb of ['Create', 'Update', 'Delete']) refuses(write(`${type}${verb}`), { at: 'salesforce' })
  }
  for (const type of ['Account', 'Contact', 'UserStory__c']) allows(write(`${type}Create`), { at: 'salesforce' })
  const read = (type: string) => query(`{ uiapi { query { ${type} { edges { node { Id } } } } } }`)
  allows(read('User'), { at: 'salesforce' })
  refuses(read('AuthSession'), { at: 'salesforce' })
})

test('no request of 1 MiB takes long to be checked', () => {
  const fill = (start: string, pump: string, stop = '') =>
    start + pump.repeat((1_048_000 - start.length - stop.length) / pump.length) + stop
  for (const body of [
    ...['{', '[', '{"query":"{a}"},', '"', '\\', '{"a":'].map((pump) => fill('[', pump)),
    ...['{', '(', '[', '"', '#', '#\\n', 'a ', '...', '\\"\\"\\"'].map((pump) => fill('{"query":"{', pump, '"}')),
    ...['{', 'a ', '#\\n', '\\n', ' '].map((pump) => `{"query":"{a(b:1)${pump.repeat(260_000 / pump.length)}"}`),
    fill('{"query":"{a}","variables":{"a":[', '{"a":1},', '1]}}'),
    fill('{"query":"{a}","variables":"', '[', '"}'),
  ]) {
    for (const type of ['application/json', 'application/x-www-form-urlencoded', multipart]) {
      const before = process.cpuUsage()
      try {
        call(body, { type })
      } catch (error) {
        assert.equal((error as ServiceError).code, 'credential_endpoint')
      }
      assert.ok(process.cpuUsage(before).user < 700_000, body.slice(0, 100))
    }
  }
})
