import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { presetRulesAt } from '../providers/presets/preset-rules.ts'
import { reachesCredentials } from './batch.ts'
import { judgeUrl } from './destination.ts'
import type { HeaderList } from './upstream.ts'

function reaches(url: string, body: string | Buffer | undefined, headers: HeaderList = []): boolean {
  const destination = judgeUrl(url, undefined)
  const rules = presetRulesAt(destination.url.hostname, null)
  assert.ok(rules.batches.length > 0)
  const call = { destination, method: 'POST', headers, body: body === undefined ? body : Buffer.from(body) }
  return reachesCredentials(rules, call, ['POST'])
}

const google = 'https://www.googleapis.com/batch/gmail/v1'
const graph = 'https://graph.microsoft.com/v1.0/$batch'
const asana = 'https://app.asana.com/api/1.0/batch'
const salesforce = 'https://acme.my.salesforce.com/services/data/v60.0/composite/batch'
const linear = 'https://api.linear.app/graphql'

const part = (line: string) => `--b\r\nContent-Type: application/http\r\n\r\n${line}\r\n\r\n{"a":"x/y"}\r\n--b--`

test('a batch that calls a credential path is found in every notation', () => {
  const delegates = '/gmail/v1/users/me/settings/delegates'
  for (const line of [
    `POST ${delegates} HTTP/1.1`,
    `POST ${delegates}`,
    `POST https://www.googleapis.com${delegates}`,
    'POST /gmail/v1/users/me/settings/%64elegates',
    'POST /gmail/v1/users/me/x/../settings/delegates',
    'POST //gmail/v1/users/me/settings/DELEGATES?a=b',
  ]) {
    assert.ok(reaches(google, part(line)), line)
  }
  const urls = [
    '/applications/1/addPassword',
    'applications/1/addPassword',
    '/applications',
    '/v1.0/applications',
    "/applications(appId='1')",
  ]
  for (const url of urls) {
    const body = JSON.stringify({ requests: [{ id: '1', method: 'POST', url }] })
    assert.ok(reaches(graph, body), url)
    assert.ok(reaches(graph, body.replaceAll('/', '\\/')), url)
    assert.ok(reaches(graph, body.replaceAll('a', '\\u0061')), url)
    assert.ok(reaches(graph, Buffer.from(body, 'utf16le')), url)
  }
  for (const path of ['/webhooks', 'webhooks', '/webhooks/1']) {
    assert.ok(reaches(asana, JSON.stringify({ data: { actions: [{ method: 'post', relative_path: path }] } })), path)
    assert.ok(reaches(asana, `data=${encodeURIComponent(JSON.stringify({ relative_path: path }))}`), path)
  }
  for (const url of [
    'v60.0/sobjects/ConnectedApplication',
    '/services/data/v60.0/sobjects/AuthProvider/1',
    'v60.0/sobjects/User/1/password',
  ]) {
    assert.ok(reaches(salesforce, JSON.stringify({ batchRequests: [{ method: 'POST', url }] })), url)
  }
})

test('a batch is checked for the methods it contains and its own', () => {
  const batchOf = (method: string) => `{"requests":[{"method":"${method}","url":"/users/1"}]}`
  assert.ok(!reaches(graph, batchOf('GET')))
  for (const method of ['PATCH', 'patch', 'P\\u0041TCH', 'MERGE']) assert.ok(reaches(graph, batchOf(method)), method)
  assert.ok(reaches(graph, '{"requests":[{"method":"GET","url":"/users"}]}'), 'the batch itself is a POST')
  const tree = 'https://acme.my.salesforce.com/services/data/v60.0/composite/sobjects'
  assert.ok(reaches(tree, '{"records":["/services/data/v60.0/sobjects/PermissionSet"],"text":"get"}'))
})

test('a bulk body with a credential type is found', () => {
  const composite = 'https://acme.my.salesforce.com/services/data/v60.0/composite/sobjects'
  for (const type of ['TwoFactorInfo', 'authsession', 'User']) {
    assert.ok(reaches(composite, JSON.stringify({ records: [{ attributes: { type }, Name: 'x' }] })), type)
    assert.ok(reaches('https://acme.my.salesforce.com/services/async/60.0/job', `<object>${type}</object>`), type)
  }
  assert.ok(!reaches(composite, '{"records":[{"attributes":{"type":"Account"},"Name":"x"}]}'))
})

test('other batches are allowed', () => {
  assert.ok(!reaches(google, part('GET /gmail/v1/users/me/messages/1')))
  assert.ok(!reaches(graph, '{"requests":[{"id":"1","method":"GET","url":"/me/messages?$top=5"}]}'))
  assert.ok(!reaches(graph, '{"requests":[{"method":"GET","url":"/me"},{"method":"POST","url":"/me/sendMail"}]}'))
  assert.ok(
    !reaches(graph, '{"requests":[{"url":"/me/sendMail","body":{"text":"about our applications and the identity"}}]}'),
  )
  assert.ok(!reaches(asana, '{"data":{"actions":[{"method":"get","relative_path":"/tasks/1"}]}}'))
  assert.ok(!reaches(salesforce, '{"batchRequests":[{"method":"GET","url":"v60.0/sobjects/Account/1"}]}'))
  assert.ok(!reaches(linear, '{"query":"{ viewer { id } }"}'))
  assert.ok(!reaches(linear, undefined))
})

test('a GraphQL field that returns a credential is found in body and query', () => {
  assert.ok(reaches(linear, '{"query":"mutation { apiKeyCreate { id } }"}'))
  assert.ok(reaches(`${linear}?query=mutation%7B%61piKeyCreate%7D`, undefined))
})

test('a batch that cannot be searched is refused', () => {
  const harmless = part('GET /gmail/v1/users/me/messages/1')
  assert.ok(!reaches(google, harmless, [['content-encoding', 'identity']]))
  assert.ok(reaches(google, harmless, [['content-encoding', 'gzip']]))
  assert.ok(reaches(google, `Content-Transfer-Encoding: base64\r\n${harmless}`))
  assert.ok(reaches(google, 'a'.repeat(600_000)))
  assert.ok(reaches(google, Array.from({ length: 6_000 }, (_, at) => `/a${at}`).join(' ')))
  assert.ok(reaches(google, '/a'.repeat(200_000)), 'more segments than any batch has')
  assert.ok(!reaches(google, 'a'.repeat(500_000)))
  assert.ok(!reaches(google, randomBytes(380_000).toString('base64')))
})

test('runs of backslashes are read in linear time', () => {
  const backslashes = '\\'.repeat(500_000)
  for (const end of ['', 'u00', '"', 'n/']) {
    const start = process.cpuUsage()
    reaches(google, `"${backslashes}${end}`)
    reaches(linear, `{"query":"${backslashes}${end}`)
    assert.ok(process.cpuUsage(start).user < 3_000_000, end)
  }
})

test('a batch crafted to be slow is checked quickly, and overlong paths are not searched', () => {
  const deep = Array.from({ length: 1_200 }, (_, at) => `"/a${at}${'%2fx'.repeat(60)}"`).join()
  const odd = Array.from({ length: 2_400 }, (_, at) => `"/a${at}/${'%2578'.repeat(36)}"`).join()
  for (const body of [deep, odd]) {
    for (const url of [graph, `${graph}/${'%61/'.repeat(12)}`, salesforce]) {
      const start = process.cpuUsage()
      assert.ok(!reaches(url, body), url)
      assert.ok(process.cpuUsage(start).user < 3_000_000, url)
    }
    assert.ok(reaches(`${graph}/${'%61'.repeat(300)}`, body))
  }
})
